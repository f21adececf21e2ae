"""A Being: an agent's long-term memory, and the MCP server in front of it."""
