"""The floor, over stdio: lines decoded and answered with no protocol and no validation."""

import json
import sys


def reply_to(line: bytes | str) -> str:
    """Answer `initialize` and `server/discover` with a stub, and `tools/call` with the sum."""
    message = json.loads(line)
    arguments = message.get("params", {}).get("arguments")
    if arguments is None:
        result = {"protocolVersion": "2025-11-25", "capabilities": {}}
    else:
        text = str(arguments["a"] + arguments["b"])
        result = {"content": [{"type": "text", "text": text}]}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})


def main() -> None:
    """Serve until the end of input."""
    for line in sys.stdin:
        if '"id"' in line:
            sys.stdout.write(reply_to(line) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
