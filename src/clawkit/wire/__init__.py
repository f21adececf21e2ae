"""JSON-RPC, the MCP server core and its transports; no policy, no storage."""
