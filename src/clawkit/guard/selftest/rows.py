"""The kinds of attack, in the order of the report."""

from __future__ import annotations

PATHS = "paths written in another way: .., relative, bare directory, backslashes, doubled slashes"
LINKS = "symlinks and paths that are hard to resolve"
FOLDING = "case, look-alike letters, zero-width characters, percent encoding, file://"
HIDING = "the value in a list, nested, under another name, as JSON in a string, as a number"
ARGUMENTS = "arguments that are a string, an array, null or missing"
BATCH = "a batch array"
DUPLICATES = "duplicate keys at any depth"
MALFORMED = "NaN, lone surrogates, invalid UTF-8, deep nesting, a line without end"
LONG = "a line of megabytes with a denied value at its end"
NOTIFIED = "a call sent as a notification"
DOORS = "other doors: resources, subscriptions, prompts, completion, unknown methods"
ANSWERS = "an answer nobody asked for, a second answer, 1 against “1”"
ASKING = "server to client: sampling, elicitation, roots, and the same inside inputRequests"
TEXTS = "text in notifications, _meta, error.data, annotations, descriptions"
RESULTS = "injection phrases, hidden characters and secrets in results"
PINS = "a tool whose definition changes, a new tool that shadows an old name"
SHOWN = "escape sequences in what a person is asked to approve"
UNSEEN = "a person approves what they were not shown"
APPROVALS = "approval for one call used for another; the policy changed meanwhile"
FLOOD = "a flood of prompts"
ENVIRONMENT = "secrets of the environment reaching a server that does not need them"
AUDIT = "the audit file full, unwritable, or written by several guards at once"
PROCESS = "the server dies, hangs, writes garbage, writes half a line and stops"

ORDER = tuple(text for name, text in list(globals().items()) if name.isupper())
