"""The guard: a policy firewall in front of any MCP server. Parse strictly, decide, forward."""
