"""The live view of approvals: its screen, its keys and the terminal it runs in."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, UIContent, UIControl, Window
from rich.cells import cell_len, chop_cells, set_cell_size

from clawkit.cli.commands import on_termination
from clawkit.errors import PolicyError
from clawkit.guard.approval_answers import (
    BY_SERVER,
    Scope,
    check_rule,
    in_words,
    is_whole,
    not_counted,
    policy_of,
    rule_of,
    scopes_of,
    sentence,
    unconfirmed,
    wider_answers,
)
from clawkit.guard.approval_window import ApprovalWindow
from clawkit.guard.approvals import EACH_CALL, Answer, Ask
from clawkit.guard.call_display import (
    REORDERED,
    call_lines,
    has_right_to_left,
    rows,
    spelled,
)
from clawkit.text.normalization import visible

CALM = 0.6
"""Seconds in which no answer counts after another question has come to the screen."""
REST = 0.5
"""Seconds in which no key may come after input that is no key of ours, until one counts again.

Another program of the same user can write to this terminal, and make it reply: the reply to
`CSI 18 t` ends in a `t`.
"""

_LONGEST_NOTE = 2000
_LONGEST_NAME = 100
_LONGEST_START = 200
_NOT_WHOLE = "What came cannot be shown, or is not what was asked about: it can only be denied."
_NARROWEST = 8
_TOO_LATE = "The call no longer waits: no rule was written."
_MOVES = {"j": 1, "down": 1, "k": -1, "up": -1}
_TURNS = {" ": 1, "pagedown": 1, "b": -1, "pageup": -1}
_ANSWERS: dict[str, Answer] = {"a": "once", "s": "session", "t": "tool"}
_SCOPES: dict[str, Scope] = {"w": "call", "f": "folder", "T": "tool"}
_TYPED = {*_MOVES, *_TURNS, *_ANSWERS, *_SCOPES, "d", "q", "y", "n"}
_CONTROL = "c-"
_ONCE_KEY = "a allow once"
_WIDER_KEYS: dict[Answer, str] = {
    "session": "s these arguments for this session",
    "tool": "t this tool for this session",
}
_SCOPE_KEYS: dict[Scope, str] = {
    "folder": "f this tool in this folder always…",
    "tool": "T this tool always…",
    "call": "w these arguments always…",
}
_READ_ON = "space: read on, to allow it"
_KEYS = ("d deny", "j/k choose", "q quit")

Style = Literal["", "bold", "dim", "chosen"]
Line = tuple[Style, str]
"""A style, and text in which every character is harmless."""


class Pager:
    """Text that is longer than the screen: a page of it, and whether all of it was on the screen.

    What was shown counts only if everything before it was, and not once the width has changed.
    """

    def __init__(self, text: list[str]) -> None:
        self._text = text
        self._rows: list[str] = []
        self._width = 0
        self._first = 0
        self._seen = 0
        self._size = 1
        self.is_read = False

    def turn(self, pages: int) -> None:
        """Go to another page; after the last one comes the first."""
        at = self._first + pages * self._size
        self._first = max(0, at) if at < len(self._rows) else 0

    def lines(self, width: int, room: int) -> list[Line]:
        """The page, in so many lines; from now on it has been seen."""
        if room < 1 or width < _NARROWEST:
            return []
        self._lay_out(width)
        if len(self._rows) <= room:
            self.is_read = True
            return [("", row) for row in self._rows]
        self._size = room - 1
        if not self._size:
            return [("bold", "(make the window larger to read it)")]
        last = min(self._first + self._size, len(self._rows))
        if self._first <= self._seen:
            self._seen = max(self._seen, last)
        self.is_read = self.is_read or self._seen == len(self._rows)
        rest = "space for more" if last < len(self._rows) else "end; space: back to the top"
        more = f"(lines {self._first + 1} to {last} of {len(self._rows)}: {rest})"
        return [*(("", row) for row in self._rows[self._first : last]), ("bold", more)]

    def _lay_out(self, width: int) -> None:
        if width != self._width:
            self._width = width
            self._first = self._seen = 0
            self._rows = [row for line in self._text for row in rows(line, width)]


class ApprovalsScreen:
    """What the person sees and has chosen. Time and size come from outside."""

    def __init__(self, view: ApprovalWindow) -> None:
        self._view = view
        self._asks: tuple[Ask, ...] = ()
        self._chosen: Ask | None = None
        self._call = Pager([])
        self._is_whole = False
        self._allow_keys: tuple[str, ...] = ()
        self._starts: dict[str, str] = {}
        self._calm_at = math.inf
        self._rested_at = 0.0
        self._asking: Literal["", "always", "quit"] = ""
        self._rule = ""
        self._rule_text = Pager([])
        self._note = ""

    def refresh(self) -> bool:
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
        return not before.issuperset(ask.id for ask in self._asks)

    def is_typed(self, key: str, now: float) -> bool:
        """Whether a key is a person's, who types nothing else just before it."""
        known = key in _TYPED or key.startswith(_CONTROL)
        if known and now >= self._rested_at:
            return True
        self._rested_at = now + REST
        return False

    def press(self, key: str, now: float) -> bool:
        """Do what a key asks for; False to end."""
        if key in _TURNS:
            self._note = ""
            self._pager.turn(_TURNS[key])
        elif self._asking:
            return self._settle(key)
        elif key == "q":
            denies = bool(self._asks) and self._view.denies_when_closed
            self._asking = "quit" if denies else ""
            return denies
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
            top += self._list(max(1, room // 4), now)
            top = top[: max(0, room - 3)]
            top += self._pager.lines(width, room - len(top))
            self._calm_at = min(self._calm_at, now + CALM)
            # The page that was just laid out may be the last one: then other keys count.
            foot = [blank, *self._foot(width, now)][-height:]
        return [(style, _fitted(text, width)) for style, text in [*top[:room], *foot]]

    @property
    def _pager(self) -> Pager:
        return self._rule_text if self._asking == "always" else self._call

    def _choose(self, ask: Ask | None) -> None:
        self._chosen = ask
        self._calm_at = math.inf  # until it is on the screen: what is typed is for another call
        self._call = Pager([] if ask is None else _text_of(ask))
        self._is_whole = ask is not None and _lines_of(ask) is not None
        self._allow_keys = () if ask is None else tuple(_allow_keys(ask))

    def _act(self, key: str, ask: Ask, *, calm: bool) -> None:
        if key in _MOVES:
            at = self._asks.index(ask) + _MOVES[key]
            self._choose(self._asks[max(0, min(at, len(self._asks) - 1))])
        elif calm and key == "d":
            self._answer(ask, "deny")
        elif calm and key in (*_ANSWERS, *_SCOPES):
            self._allow(key, ask)

    def _allow(self, key: str, ask: Ask) -> None:
        if not self._is_whole:
            self._note = _NOT_WHOLE
        elif not self._call.is_read:
            self._note = "Read it to its end first: space turns the page."
        elif ask.each_call and key != "a":
            self._note = f"{EACH_CALL[0].upper()}{EACH_CALL[1:]}."
        elif key in _SCOPES:
            self._propose(ask, _SCOPES[key])
        else:
            self._answer(ask, _ANSWERS[key])

    def _propose(self, ask: Ask, scope: Scope) -> None:
        try:
            self._rule = rule_of(ask, scope)
        except PolicyError as error:
            self._note = str(error)
        else:
            self._rule_text = Pager([spelled(line) for line in self._rule.splitlines()])
            self._asking = "always"

    def _settle(self, key: str) -> bool:
        """The answer to a question of our own; whatever is not `y` is a no."""
        asked, self._asking = self._asking, ""
        if key == "y" and asked == "quit":
            return False
        if key == "y" and self._chosen is not None and self._rule_text.is_read:
            self._write(self._chosen)
        return True

    def _write(self, ask: Ask) -> None:
        try:
            check_rule(ask, self._rule)
        except PolicyError as error:
            self._note = str(error)
        else:
            if self._answer(ask, "always", self._rule):
                self._note = f"The rule stands in {policy_of(ask)}."

    def _answer(self, ask: Ask, answer: Answer, rule: str = "") -> bool:
        """Answer it; whether its guard did what was said. If not, the note says so."""
        counted = self._view.answer(ask.id, answer, rule=rule)
        end = self._view.end_of(ask.id)
        done = counted and end is not None and not end.problem
        if not done:
            sent = self._view.given().get(ask.id)
            self._note = f"{_name(ask)}: {sentence(not_counted(end, answer, sent))}"
        return done

    def _foot(self, width: int, now: float) -> list[Line]:
        note: list[Line] = [
            ("bold", part) for part in _wrapped(visible(self._note, _LONGEST_NOTE), width)
        ]
        if self._asking == "quit":
            question = f"Quit? Nobody else is asked: what waits ({len(self._asks)}) is denied. y/n"
            return [*note, *(("bold", part) for part in _wrapped(question, width))]
        if self._chosen is None:
            return [*note, ("dim", "q quit")]
        if self._asking == "always":
            place = f"{policy_of(self._chosen)}, above rule {self._chosen.rule}"
            question = visible(f"Write this rule into {place}?")
            all_keys = _wrapped(f"{question} y/n", width)
            unread = _wrapped(f"{question} (space: read on)", width)
            return [*note, *_keys("bold", all_keys, unread, read=self._rule_text.is_read)]
        all_keys = _joined((*self._allow_keys, *_KEYS), width)
        unread = _joined((_READ_ON, *_KEYS), width)
        if now < self._calm_at:
            return [*note, *_keys("dim", all_keys, ["One moment…"], read=False)]
        read = self._call.is_read and self._is_whole
        return [*note, *_keys("dim", all_keys, unread, read=read)]

    def _recent(self, room: int) -> list[Line]:
        ended = self._view.ended()[-max(0, room - 1) :] if room > 1 else ()
        told = [f"{_name(each.ask)}  {visible(in_words(each), _LONGEST_NOTE)}" for each in ended]
        return [("", ""), *(("dim", text) for text in told)]

    def _list(self, room: int, now: float) -> list[Line]:
        """The questions around the chosen one."""
        at = self._asks.index(self._chosen) if self._chosen else 0
        first = max(0, min(at - room // 2, len(self._asks) - room))
        rows: list[Line] = []
        sent = self._view.given()
        for number, ask in enumerate(self._asks[first : first + room], first + 1):
            style: Style = "chosen" if ask is self._chosen else ""
            left = max(0, round(ask.deadline - now))
            about = unconfirmed(sent[ask.id]) if ask.id in sent else self._starts[ask.id]
            rows.append((style, f"{number:3}  {left:3} s  {_name(ask)}  {about}"))
        return [*rows, ("", "")]


def _text_of(ask: Ask) -> list[str]:
    """All that a person decides about, in lines of any length."""
    described = f"{ask.rule}: {ask.description}" if ask.description else f"{ask.rule}"
    facts = (("server", ask.server), ("client", ask.client or "unknown"), ("rule", described))
    about = [f"{name}: {spelled(text)}" for name, text in facts]
    encoding = sys.stdout.encoding or "utf-8"  # what the terminal cannot show is spelled out too
    call = _lines_of(ask) or [_NOT_WHOLE]
    words = [BY_SERVER.format(spelled(ask.server))] if ask.by_server else []
    lines = [*about, *words, *call, *([REORDERED] if has_right_to_left(call) else [])]
    return [line.encode(encoding, "backslashreplace").decode(encoding) for line in lines]


def _lines_of(ask: Ask) -> list[str] | None:
    """The call itself; None where what came cannot be shown, or is not what was asked about."""
    try:
        return call_lines(ask.call) if is_whole(ask) else None
    except (RecursionError, ValueError):
        return None


def _allow_keys(ask: Ask) -> Iterator[str]:
    """The keys that allow it, and only those of which the rule can be written."""
    yield _ONCE_KEY
    yield from map(_WIDER_KEYS.__getitem__, wider_answers(ask))
    yield from map(_SCOPE_KEYS.__getitem__, scopes_of(ask))


def _start(ask: Ask) -> str:
    """The beginning of the arguments, to tell questions apart."""
    text = msgspec.json.encode(ask.call.get("arguments")).decode()
    return spelled(text[:_LONGEST_START]) + ("…" if len(text) > _LONGEST_START else "")


def _name(ask: Ask) -> str:
    return f"{visible(ask.server, _LONGEST_NAME)}  {visible(ask.tool, _LONGEST_NAME)}"


def _fitted(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width)


def _wrapped(text: str, width: int) -> list[str]:
    return chop_cells(text, max(4, width)) or [""] if text else []


def _keys(style: Style, all_keys: list[str], unread: list[str], *, read: bool) -> list[Line]:
    """The keys that count now, in as many lines either way: no page moves under the eye."""
    height = max(len(all_keys), len(unread))
    shown = all_keys if read else unread
    return [(style, text) for text in (*shown, *[""] * (height - len(shown)))]


def _joined(parts: tuple[str, ...], width: int) -> list[str]:
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}   {part}".strip()
        if len(longer) > width and lines[-1]:
            lines.append(part)
        else:
            lines[-1] = longer
    return lines


_REDRAWN_EVERY = 0.1
_LONGEST_KEYS = 16
_AS_SENT, _REORDERED = "\x1b[8l", "\x1b[8h"  # BDSM of ECMA-48: explicit, implicit
_STYLES: dict[Style, str] = {"": "", "bold": "bold", "dim": "dim", "chosen": "reverse"}


class _Frame(UIControl):
    """The screen as prompt_toolkit draws it: whole lines, each as wide as the terminal at most."""

    def __init__(self, screen: ApprovalsScreen) -> None:
        self._screen = screen

    def create_content(self, width: int, height: int) -> UIContent:
        lines = self._screen.lines(width, height, time.time())
        shown: list[StyleAndTextTuples] = [[(_STYLES[style], text)] for style, text in lines]
        return UIContent(lambda number: shown[number], len(shown), show_cursor=False)


def run(view: ApprovalWindow) -> int:
    """Show the view's questions and obey the keys until the person quits; the exit status."""
    try:
        return asyncio.run(_run(_application(ApprovalsScreen(view))))
    except EOFError:  # the terminal is lost
        return 0


async def _run(app: Application[int]) -> int:
    loop = asyncio.get_running_loop()

    def end(number: int) -> None:
        if not app.is_done:
            app.exit(result=128 + number)

    def fail(_: object, context: dict[str, Any]) -> None:
        if not app.is_done:
            app.exit(exception=context.get("exception") or RuntimeError(context["message"]))

    loop.set_exception_handler(fail)
    on_termination(loop, end)
    # Terminals that know bidirectional text show a call in the order in which it is sent.
    app.output.write_raw(_AS_SENT)
    try:
        return await app.run_async(set_exception_handler=False)
    finally:
        app.output.write_raw(_REORDERED)
        app.output.flush()


def _application(screen: ApprovalsScreen) -> Application[int]:
    keys = KeyBindings()

    def refresh(app: Application[int]) -> None:
        if screen.refresh():
            app.output.bell()

    @keys.add("c-c", eager=True)
    @keys.add("<sigint>")
    def _(event: KeyPressEvent) -> None:
        event.app.exit(result=130)

    @keys.add("<any>")
    def _(event: KeyPressEvent) -> None:
        app, pressed, now = event.app, event.key_sequence[0].key, time.time()
        key = pressed.value if isinstance(pressed, Keys) else pressed
        is_pasted = len(app.key_processor.input_queue) >= _LONGEST_KEYS
        if is_pasted or not screen.is_typed(key, now):
            app.key_processor.empty_queue()  # nobody answers that way
            return
        if not screen.press(key, now):
            app.exit(result=0)
            return
        refresh(app)
        app.renderer.render(app, app.layout)  # now: a page that was not drawn was not read

    return Application(
        Layout(Window(_Frame(screen))),
        key_bindings=keys,
        full_screen=True,
        refresh_interval=_REDRAWN_EVERY,
        before_render=refresh,
    )
