"""Python functions as MCP tools, and the servers that offer them."""
