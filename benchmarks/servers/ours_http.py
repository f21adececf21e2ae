"""Ours: `add` over stateless Streamable HTTP under uvicorn."""

from benchmarks.serve_http import serve_on_free_port
from benchmarks.servers.ours_stdio import server
from clawkit.wire.http.endpoint import http_app

if __name__ == "__main__":
    serve_on_free_port(http_app(server))
