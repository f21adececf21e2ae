"""The tools that the model may call: Python files, and other MCP servers."""
