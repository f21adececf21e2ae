"""MCP clients' config files: find them, read them, edit them without disturbing a byte."""
