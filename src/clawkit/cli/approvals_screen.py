"""What the live view of approvals shows, and what a key does in it. The terminal is elsewhere."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Literal

from rich.cells import cell_len, chop_cells, set_cell_size

from clawkit.errors import PolicyError
from clawkit.guard.approvals import Answer, Ask, call_digest
from clawkit.guard.approvals_view import View, policy_of, rule_of, write_rule
from clawkit.guard.scan import visible

CALM = 0.6
"""Seconds in which no answer counts after the question on the screen changed by itself."""

_LONGEST_LINE = 10_000
_LONGEST_NAME = 300
_LONGEST_START = 200
_TOO_LATE = "The call no longer waits: no rule was written."
_MOVES = {"j": 1, "down": 1, "k": -1, "up": -1}
_ANSWERS: dict[str, Answer] = {"a": "once", "s": "session", "d": "deny"}
_KEYS = (
    "a allow once",
    "s allow these arguments for this session",
    "w always…",
    "d deny",
    "j/k choose",
    "q quit",
)
_ENDS = {
    "once": "allowed once",
    "session": "allowed for this session",
    "always": "allowed always",
    "deny": "denied",
    "expired": "denied: nobody answered in time",
    "withdrawn": "no longer asked",
}

Style = Literal["", "bold", "dim", "chosen"]
Line = tuple[Style, str]
"""A style, and text in which every character is harmless."""


class Screen:
    """What the person sees and has chosen. Time and size come from outside."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._asks: tuple[Ask, ...] = ()
        self._chosen: Ask | None = None
        self._arguments: list[str] = []
        self._starts: dict[str, str] = {}
        self._calm_at = 0.0
        self._page = 0
        self._asking: Literal["", "always", "quit"] = ""
        self._rule = ""
        self._note = ""

    def refresh(self, now: float) -> bool:
        """Take in what came and went; True when something came.

        A key meant for a question that vanished must not answer its neighbour.
        """
        before = {ask.id for ask in self._asks}
        self._asks = self._view.asks()
        self._starts = {ask.id: self._starts.get(ask.id) or _start(ask) for ask in self._asks}
        if self._chosen is None or self._chosen not in self._asks:
            if self._asking == "always":
                self._asking, self._note = "", _TOO_LATE
            self._choose(self._asks[0] if self._asks else None)
            self._calm_at = now + CALM
        return not before.issuperset(ask.id for ask in self._asks)

    def press(self, key: str, now: float) -> bool:
        """Do what a key asks for; False to end."""
        if key == "space":
            self._page += 1
        elif self._asking:
            return self._settle(key)
        elif key == "q":
            self._asking = "quit" if self._asks else ""
            return bool(self._asks)
        elif self._chosen is not None:
            self._note = ""
            self._act(key, self._chosen, calm=now >= self._calm_at)
        return True

    def lines(self, width: int, height: int, now: float) -> list[Line]:
        """At most `height` lines, none wider than `width`; the keys stay when room is scarce."""
        blank: Line = ("", "")
        foot = [blank, *self._foot(width, now)][-height:]
        room = height - len(foot)
        top: list[Line] = [("bold", f"claw approvals: {len(self._asks) or 'nothing'} waiting")]
        if self._chosen is None:
            top += self._recent(room - 1)
        else:
            top += self._list(max(1, room // 4), now) + self._details(self._chosen, width)
            top = top[: max(0, room - 3)]
            top += self._paged(width, room - len(top))
        return [(style, _fitted(text, width)) for style, text in [*top[:room], *foot]]

    def _choose(self, ask: Ask | None) -> None:
        self._chosen = ask
        self._page = 0
        self._arguments = [] if ask is None else _arguments(ask)

    def _act(self, key: str, ask: Ask, *, calm: bool) -> None:
        if key in _MOVES:
            at = self._asks.index(ask) + _MOVES[key]
            self._choose(self._asks[max(0, min(at, len(self._asks) - 1))])
        elif calm and key in _ANSWERS:
            self._view.answer(ask.id, _ANSWERS[key])
        elif calm and key == "w":
            self._propose(ask)

    def _propose(self, ask: Ask) -> None:
        try:
            self._rule = rule_of(ask)
        except PolicyError as error:
            self._note = str(error)
        else:
            self._asking, self._page = "always", 0

    def _settle(self, key: str) -> bool:
        """The answer to a question of our own; whatever is not `y` is a no."""
        asked, self._asking, self._page = self._asking, "", 0
        if key == "y" and asked == "quit":
            return False
        if key == "y" and self._chosen is not None:
            self._write(self._chosen)
        return True

    def _write(self, ask: Ask) -> None:
        if ask not in self._view.asks():
            self._note = _TOO_LATE
            return
        try:
            write_rule(ask, self._rule)
        except PolicyError as error:
            self._note = str(error)
        else:
            self._note = f"The rule stands in {policy_of(ask)}."
            self._view.answer(ask.id, "always")

    def _foot(self, width: int, now: float) -> list[Line]:
        note: list[Line] = [
            ("bold", part) for part in _wrapped(visible(self._note, _LONGEST_LINE), width)
        ]
        if self._asking == "quit":
            return [*note, ("bold", f"Deny what waits ({len(self._asks)}), and quit? y/n")]
        if self._asking == "always" and self._chosen is not None:
            place = f"{policy_of(self._chosen)}, above rule {self._chosen.rule}"
            question = _wrapped(visible(f"Write this rule into {place}? y/n"), width)
            return [*note, *(("bold", part) for part in question)]
        if self._chosen is None:
            return [*note, ("dim", "q quit")]
        if now < self._calm_at:
            return [*note, ("dim", "One moment…")]
        return [*note, *(("dim", part) for part in _joined(_KEYS, width))]

    def _recent(self, room: int) -> list[Line]:
        ended = self._view.ended()[-max(0, room - 1) :] if room > 1 else ()
        return [("", ""), *(("dim", f"{_name(each.ask)}  {_ENDS[each.how]}") for each in ended)]

    def _list(self, room: int, now: float) -> list[Line]:
        """The questions around the chosen one."""
        at = self._asks.index(self._chosen) if self._chosen else 0
        first = max(0, min(at - room // 2, len(self._asks) - room))
        rows: list[Line] = []
        for number, ask in enumerate(self._asks[first : first + room], first + 1):
            style: Style = "chosen" if ask is self._chosen else ""
            left = max(0, round(ask.deadline - now))
            rows.append((style, f"{number:3}  {left:3} s  {_name(ask)}  {self._starts[ask.id]}"))
        return [*rows, ("", "")]

    def _details(self, ask: Ask, width: int) -> list[Line]:
        described = f"{ask.rule}: {ask.description}" if ask.description else f"{ask.rule}"
        facts = [("server", ask.server), ("client", ask.client or "unknown"), ("tool", ask.tool)]
        if ask.method != "tools/call":
            facts.append(("method", ask.method))
        facts.append(("rule", described))
        lines: list[Line] = []
        for name, text in facts:
            parts = _wrapped(visible(text, _LONGEST_NAME), width - 8)
            names = [name, *[""] * len(parts)]
            lines.extend(("", f"{left:8}{part}") for left, part in zip(names, parts, strict=False))
        return [*lines, ("", "")]

    def _paged(self, width: int, room: int) -> list[Line]:
        """The arguments, or the rule that would be written: all of it, page by page."""
        source = self._arguments
        if self._asking == "always":
            source = [visible(line, _LONGEST_LINE) for line in self._rule.splitlines()]
        lines = [part for line in source for part in _continued(line, width)]
        if len(lines) <= room:
            return [("", line) for line in lines]
        size = max(1, room - 1)
        first = self._page % -(-len(lines) // size) * size
        last = min(first + size, len(lines))
        rest = "space for more" if last < len(lines) else "end; space: back to the top"
        more = f"(lines {first + 1} to {last} of {len(lines)}: {rest})"
        return [*(("", line) for line in lines[first:last]), ("bold", more)]


def _arguments(ask: Ask) -> list[str]:
    """What exactly is asked about: the call itself if it came along, else its text."""
    text = ask.arguments
    if ask.call is not None and call_digest(ask.call) == ask.digest:
        with suppress(RecursionError):  # nested deeper than it can be indented
            text = json.dumps(ask.call.get("arguments"), indent=2, ensure_ascii=False)
    return [visible(line, _LONGEST_LINE) for line in text.split("\n")]


def _start(ask: Ask) -> str:
    """The beginning of the arguments, to tell questions apart."""
    text = " ".join(line.strip() for line in _arguments(ask))
    return text if len(text) <= _LONGEST_START else text[:_LONGEST_START] + "…"


def _name(ask: Ask) -> str:
    return f"{visible(ask.server, _LONGEST_NAME)}  {visible(ask.tool, _LONGEST_NAME)}"


def _fitted(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width)


def _wrapped(text: str, width: int) -> list[str]:
    return chop_cells(text, max(4, width)) or [""] if text else []


def _continued(text: str, width: int) -> list[str]:
    """Wrapped so that the rest of a long value cannot pass for a line of its own."""
    first, *rest = _wrapped(text, width - 2) or [""]
    return [first, *(f"↳ {part}" for part in rest)]


def _joined(parts: tuple[str, ...], width: int) -> list[str]:
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}   {part}".strip()
        if len(longer) > width and lines[-1]:
            lines.append(part)
        else:
            lines[-1] = longer
    return lines
