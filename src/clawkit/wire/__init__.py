"""JSON-RPC, the MCP server core, and its doors; no policy, no storage."""
