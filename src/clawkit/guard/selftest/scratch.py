"""The scratch folder of a run: real files and links, the selftest's policy, the guard's command."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Literal

import msgspec

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


CANARY = "canary-9f1c-of-the-secret-folder"
OURS = (sys.executable, "-m", "clawkit", "proxy", "--policy", "{policy}", "--", "{server}")
_VICTIM = Path(__file__).with_name("victim.py")


class GuardFolder(msgspec.Struct, frozen=True):
    """What belongs to one guard, or to several that share it: its policy, its home, its log."""

    folder: Path

    @property
    def policy(self) -> Path:
        return self.folder / "policy.toml"

    def environment(self) -> dict[str, str]:
        """What the guard is started with: all that this process has, a home, and two variables."""
        variables = {"SELFTEST_SEEN": "1", "SELFTEST_API_KEY": CANARY}
        return {**os.environ, **variables, "CLAW_HOME": str(self.folder / "claw")}

    def recorded(self) -> list[bytes]:
        """Every line of every file that a guard has written about what it saw."""
        lines: list[bytes] = []
        for folder in ("claw", "audit"):
            for file in sorted((self.folder / folder).rglob("*")):
                if file.is_file():
                    lines.extend(file.read_bytes().split(b"\n"))
        return lines


class Scratch:
    """A folder for one run. `root` is real: no link leads to it, so that its text is its place."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._places = 0
        self._fill()

    def _fill(self) -> None:
        for folder in ("secret/deep", "work/sub", ACCENTED, "guards"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        for name in ("secret/key.txt", "secret/deep/key.txt", f"{ACCENTED}/key.txt"):
            (self.root / name).write_text(CANARY, encoding="utf-8")
        (self.root / "work/plain.txt").write_text("plain", encoding="utf-8")
        for link, target in {
            "work/link": "../secret",
            "work/file": "../secret/key.txt",
            "work/sub/up": "..",
            "work/chain": "sub/up/link",
            "work/loop": "loop",
            "work/dangling": "../secret/not-there-yet",
            "way": ".",
        }.items():
            (self.root / link).symlink_to(target)

    def fill_in(self, text: str) -> str:
        """Replace {root}, {name}, the root's own name, {home} and {user}, ways to it from ~."""
        user = _user()
        for name, value in {
            "{root}": str(self.root),
            "{name}": self.root.name,
            "{home}": f"~/{os.path.relpath(self.root, Path.home())}",
            "{user}": f"{user}/{os.path.relpath(self.root, Path(user).expanduser())}",
        }.items():
            text = text.replace(name, value)
        return text

    def place(self, kind: PolicyKind) -> GuardFolder:
        """A new place for a guard, with its policy."""
        self._places += 1
        folder = self.root / "guards" / str(self._places)
        for inner in ("claw", "audit"):
            (folder / inner).mkdir(parents=True)
        place = GuardFolder(folder)
        place.policy.write_text(policy_text(self.root, kind), encoding="utf-8")
        place.policy.chmod(0o600)
        return place

    def command(self, template: tuple[str, ...], place: GuardFolder, journal: Path) -> list[str]:
        """The guard's command line with its placeholders filled in."""
        server = (sys.executable, "-I", "-S", str(_VICTIM), str(journal), f"{self.root}/work/sub")
        if not any("{server}" in part for part in template):
            template = (*template, "{server}")
        command: list[str] = []
        for part in template:
            if part == "{server}":
                command.extend(server)
            else:
                command.append(self._filled(part, place, server))
        return command

    def _filled(self, part: str, place: GuardFolder, server: tuple[str, ...]) -> str:
        part = part.replace("{server}", shlex.join(server)).replace("{policy}", str(place.policy))
        return part.replace("{cwd}", str(self.root)).replace("{audit}", str(place.folder / "audit"))


def _user() -> str:
    """A way to say ~ with a name."""
    if sys.platform == "win32":
        return "~"
    import pwd

    return f"~{pwd.getpwuid(os.getuid()).pw_name}"
