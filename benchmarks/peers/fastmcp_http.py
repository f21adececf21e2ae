"""fastmcp over stateless Streamable HTTP, with JSON answers."""

from benchmarks.peers.fastmcp_stdio import server
from benchmarks.serve_http import serve_on_free_port

if __name__ == "__main__":
    serve_on_free_port(server.http_app(json_response=True, stateless_http=True))
