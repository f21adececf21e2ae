"""Logins: an authorization server for MCP servers and its people; a client of other servers."""
