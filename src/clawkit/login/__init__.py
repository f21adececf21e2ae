"""Logins: an authorization server for MCP servers, the people who use it, and their consent."""
