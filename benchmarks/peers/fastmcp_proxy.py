"""fastmcp: its proxy in front of the server that the command line names, without its banner."""

import sys

from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

if __name__ == "__main__":
    server = StdioTransport(command=sys.argv[1], args=sys.argv[2:])
    create_proxy(server, name="bench").run(show_banner=False)
