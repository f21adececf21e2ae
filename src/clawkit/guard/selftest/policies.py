"""The policy that the attacks are tried against, and in words what it must deny."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

PolicyKind = Literal["usual", "tight"]

SECRETS_OF_OTHER_RULES = "marmalade"
"""A word that stands only in a rule that matches nothing: no client may ever read it."""

ACCENTED = "priv\N{LATIN SMALL LETTER E WITH ACUTE}"

MUST = """\
# What a guard must do, in words, for those who write it in another guard's language
# (`--root DIR` keeps the paths the same from run to run):
#   deny    any argument or parameter, of any method, at any depth,
#           under ROOT/secret or ROOT/{accented}
#   deny    the tools tool_shell, tool_port with port 22,
#           and tool_nested with options.target "forbidden"
#   deny    prompts secret_*, resources private://**
#   allow   the tool read_file with path under ROOT/work only
#   allow   the tool push with branch "main" and dry_run true, and no other argument
#   allow   the tool fetch with url under https://*.good.example/ only
#   allow   the tool account with id {large}, -{large} or {rounded}
#   allow   resources file://ROOT/work/** and notes://**, prompts greet*, and sampling
#   ask     a person about the tool delete_file
#   allow   the tools echo, act and the other tool_*
#   deny    every other tool call, resource, prompt and sampling request
# Hidden characters are stripped, secrets redacted, injection phrases recorded.
# The tight policy also: messages up to 16 MB, 3 questions at once and 6 a minute, results with
# injection phrases blocked, no sampling, and for the server only PATH and SELFTEST_SEEN of the
# environment.
"""

_RULES = """
[[rule]]
action = "deny"
tool = "*"
args."*" = [{secret}, {accented}]
description = "The secret folder is closed"

[[rule]]
action = "deny"
tool = "tool_shell"
description = "No shell"

[[rule]]
action = "deny"
tool = "tool_port"
args.port = "22"
description = "Not this port"

[[rule]]
action = "deny"
tool = "tool_nested"
args.options.target = "forbidden"
description = "Not this target"

[[rule]]
action = "deny"
prompt = "secret_*"
description = "Secret prompts stay secret"

[[rule]]
action = "deny"
resource = "private://**"
description = "Private resources stay private"

[[rule]]
action = "allow"
resource = [{work_uri}, "notes://**"]

[[rule]]
action = "allow"
prompt = "greet*"

[[rule]]
action = "allow"
tool = "read_file"
args.path = {work}
description = "Work files may be read"

[[rule]]
action = "allow"
tool = "push"
args.branch = "main"
args.dry_run = true
only_args = true

[[rule]]
action = "allow"
tool = "fetch"
args.url = "https://*.good.example/**"

[[rule]]
action = "allow"
tool = "account"
args.id = ["{large}", "-{large}", "{rounded}", "{rounded}.0"]

[[rule]]
action = "prompt"
tool = "delete_file"
description = "Deleting needs a person"

[[rule]]
action = "allow"
tool = ["echo", "act", "tool_*"]

[[rule]]
action = "allow"
tool = "{unrelated}"
description = "An unrelated rule about {unrelated}"
"""

_SAMPLING = """
[[rule]]
action = "allow"
method = "sampling/createMessage"
description = "The model may be asked"
"""

_DEFAULT = """
[[rule]]
action = "deny"
tool = "*"
description = "Default deny"
"""

_USUAL = """
[limits]
prompts = 100
prompts_per_minute = 1000
"""

_TIGHT = """
[limits]
message = "16MB"
prompts = 3
prompts_per_minute = 6

[scan]
injection = "block"

[env]
allow = ["PATH", "SELFTEST_SEEN"]
"""


def policy_text(root: Path, kind: PolicyKind) -> str:
    """The selftest's policy for this folder."""
    rules = _RULES.format(
        secret=json.dumps(f"{root}/secret/**"),
        accented=json.dumps(f"{root}/{ACCENTED}/**", ensure_ascii=False),
        work=json.dumps(f"{root}/work/**"),
        work_uri=json.dumps(f"file://{root}/work/**"),
        unrelated=SECRETS_OF_OTHER_RULES,
        large=2**53 + 1,
        rounded=2**53,
    )
    if kind == "tight":
        return f"{_TIGHT}{rules}{_DEFAULT}"
    return f"{_USUAL}{rules}{_SAMPLING}{_DEFAULT}"


def described(root: Path) -> str:
    """Both policies, and what they must deny, for `--print-policy`."""
    must = MUST.format(accented=ACCENTED, large=2**53 + 1, rounded=2**53).replace("ROOT", str(root))
    usual, tight = policy_text(root, "usual"), policy_text(root, "tight")
    return f"{must}\n# The usual policy\n{usual}\n# The tight policy\n{tight}"
