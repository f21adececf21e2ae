"""The scratch folder of a run: real files and links, the selftest's policy, the guard's command."""

from __future__ import annotations

import json
import os
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

PolicyKind = Literal["usual", "tight"]

SECRETS_OF_OTHER_RULES = "marmalade"
"""A word that stands only in a rule that matches nothing: no client may ever read it."""

ACCENTED = "priv\N{LATIN SMALL LETTER E WITH ACUTE}"


@cache
def _policy_parts() -> dict[str, str]:
    data = Path(__file__).with_name("policy.toml").read_bytes()
    return msgspec.toml.decode(data, type=dict[str, str])


def policy_text(root: Path, kind: PolicyKind) -> str:
    """The selftest's policy for this folder."""
    parts = _policy_parts()
    sampling = "" if kind == "tight" else parts["sampling"]
    text = f"{parts[kind]}{parts['rules']}{sampling}{parts['default']}"
    return text.replace("ROOT", json.dumps(str(root), ensure_ascii=False)[1:-1])


def described(root: Path) -> str:
    """Both policies, and what they must deny, for `--print-policy`."""
    must = _policy_parts()["must"].replace("ROOT", str(root))
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
