"""The model behind the Claude CLI: it calls the tool so many times, then it is done."""

from tests.assistant.providers.steps import Call, Request, Say, Step

CALLS = 20
TOOL = "mcp__math__add"
ANSWER = "Done."


def answer(request: Request) -> Step:
    """The next call, or the end of the answer: what the tool said so far is in the request."""
    blocks = [block for message in request.messages for block in message["content"]]
    results = [b for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result"]
    if len(results) >= CALLS:
        return Say(ANSWER)
    return Call(TOOL, {"a": 2, "b": 3}, id=f"toolu_{len(results)}")
