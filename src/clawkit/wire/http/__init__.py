"""The HTTP transport: Streamable HTTP of both eras."""
