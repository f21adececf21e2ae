"""A loop over lines with one tool, `echo`: the least that a server can cost."""

import json
import sys

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "bare", "version": "1"},
}
TOOLS = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}

if __name__ == "__main__":
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        if message["method"] == "tools/call":
            text = message["params"]["arguments"]["text"]
            result = {"content": [{"type": "text", "text": text}]}
        else:
            result = HELLO if message["method"] == "initialize" else TOOLS
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        sys.stdout.buffer.write(json.dumps(reply, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()
