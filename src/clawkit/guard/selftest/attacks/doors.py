"""Attacks through other doors: methods that are no tool calls, and calls that ask for no answer."""

from __future__ import annotations

import json
from typing import Any

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.registry import Setup, attacks_each

_JUDGED = "the parameters of every method go through the same rules"
_URI = "file://{root}/secret/key.txt"

_REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "read": ("resources/read", {"uri": _URI}),
    "read-percent": ("resources/read", {"uri": "file://{root}/%73ecret/key.txt"}),
    "read-dotdot": ("resources/read", {"uri": "file://{root}/work/../secret/key.txt"}),
    "read-link": ("resources/read", {"uri": "file://{root}/work/link/key.txt"}),
    "read-path": ("resources/read", {"uri": "{root}/secret/key.txt"}),
    "read-denied-scheme": ("resources/read", {"uri": "private://plans"}),
    "read-denied-scheme-case": ("resources/read", {"uri": "PRIVATE://plans"}),
    "read-unknown-scheme": ("resources/read", {"uri": "other://plans"}),
    "read-outside-allowed": ("resources/read", {"uri": "file://{root}/guards"}),
    "read-escape": ("resources/read", {"uri": "file://{root}/work/%2e%2e/guards"}),
    "read-without-uri": ("resources/read", {}),
    "read-uri-list": ("resources/read", {"uri": ["notes://one"]}),
    "read-second-uri": ("resources/read", {"uri": "notes://one", "other": _URI}),
    "subscribe": ("resources/subscribe", {"uri": _URI}),
    "subscribe-denied-scheme": ("resources/subscribe", {"uri": "private://plans"}),
    "prompt-by-name": ("prompts/get", {"name": "secret_plan"}),
    "prompt-by-name-case": ("prompts/get", {"name": "Secret_Plan"}),
    "prompt-not-allowed": ("prompts/get", {"name": "other"}),
    "prompt-argument": ("prompts/get", {"name": "greet", "arguments": {"file": _URI}}),
    "prompt-arguments-string": ("prompts/get", {"name": "greet", "arguments": "x"}),
    "prompt-name-in-arguments": (
        "prompts/get",
        {"name": "secret_x", "arguments": {"name": "greet"}},
    ),
    "completion": (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "f", "value": _URI}},
    ),
    "completion-of-resource": (
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": _URI}, "argument": {"name": "f", "value": "a"}},
    ),
    "completion-context": (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "f", "value": "a"},
            "context": {"arguments": {"file": _URI}},
        },
    ),
    "unknown-method": ("x/anything", {"file": _URI}),
    "unknown-method-nested": ("x/anything", {"a": [{"b": "{root}/secret"}]}),
    "notification-with-an-id": ("notifications/tools/call", {"name": "echo", "arguments": {}}),
    "logging": ("logging/setLevel", {"level": _URI}),
    "task": ("tasks/get", {"taskId": _URI}),
    "task-update": ("tasks/update", {"taskId": "1", "inputResponses": {"a": {"path": _URI}}}),
    "call-task": ("tools/call", {"name": "tool_shell", "arguments": {}, "task": {"ttl": 1}}),
}


@attacks_each("door", categories.DOORS, _JUDGED, _REQUESTS)
def other_door(bench: Bench, request: tuple[str, dict[str, Any]]) -> None:
    method, params = request
    bench.refuses(method, json.loads(bench.fill_in(json.dumps(params))))


_MODERN: dict[str, tuple[str, dict[str, Any]]] = {
    "listen": ("subscriptions/listen", {"notifications": {"resourceSubscriptions": [_URI]}}),
    "listen-denied-scheme": (
        "subscriptions/listen",
        {"notifications": {"resourceSubscriptions": ["notes://one", "private://plans"]}},
    ),
    "call": ("tools/call", {"name": "tool_shell", "arguments": {}}),
    "call-argument": ("tools/call", {"name": "echo", "arguments": {"text": _URI}}),
    "read": ("resources/read", {"uri": _URI}),
    "prompt": ("prompts/get", {"name": "secret_plan"}),
    "unknown-method": ("x/anything", {"file": _URI}),
}


@attacks_each("door-modern", categories.DOORS, _JUDGED, _MODERN, setup=Setup(era="modern"))
def other_door_of_the_modern_era(bench: Bench, request: tuple[str, dict[str, Any]]) -> None:
    other_door(bench, request)


_NOTIFIED: dict[str, tuple[str, dict[str, Any]]] = {
    "call": ("tools/call", {"name": "echo", "arguments": {"text": "unasked"}}),
    "denied-call": ("tools/call", {"name": "tool_shell", "arguments": {}}),
    "read": ("resources/read", {"uri": _URI}),
    "prompt": ("prompts/get", {"name": "secret_plan"}),
    "unknown-method": ("x/anything", {"file": _URI}),
}


@attacks_each("notified", categories.NOTIFIED, "dropped, and the guard goes on", _NOTIFIED)
def call_as_notification(bench: Bench, request: tuple[str, dict[str, Any]]) -> None:
    method, params = request
    message = json.dumps({"jsonrpc": "2.0", "method": method, "params": params})
    bench.drops(bench.fill_in(message).encode())
