"""A person's window on the calls that wait: every guard's questions, and the answers to them."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from clawkit.errors import UNREADABLE_JSON
from clawkit.guard.approval_answers import Ended, not_counted, unconfirmed
from clawkit.guard.approvals import (
    Answer,
    AnswerLine,
    Ask,
    EndNote,
    GuardLine,
    Source,
    has_window,
    join_windows,
    place_of,
    sockets_in,
)
from clawkit.system.peer_process import PeerProcess
from clawkit.system.watchdog import running_guards

ANSWER_SECONDS = 10.0
"""How long a window waits until a guard has said whether an answer counts."""
_FIRST_SECONDS = 1.0
"""How long it waits for the first lines of guards that it has just found."""
_AGAIN_SECONDS = 2.0
"""How long until it looks again at a socket that cannot be used."""
_GRACE = 1.0
"""How long after its deadline a question is shown, because its guard says how it ended."""
_TICK = 0.05
_REMEMBERED = 32
_NOTES = 4096
"""As many as a hundred guards remember."""
_LONGEST_LINE = 64 * 1024 * 1024
_PART = 256 * 1024


class _Guard:
    """One guard, as far as it has spoken."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.asks: dict[str, Ask] = {}
        self.sent: dict[str, list[AnswerLine]] = {}
        """What was answered here to what waits; after a yes, perhaps a no."""
        self.has_spoken = False
        self.is_gone = False
        self._received = bytearray()

    def lines(self) -> Iterator[GuardLine]:
        """What has come by now. A guard that speaks nonsense is none."""
        with suppress(BlockingIOError):
            while len(self._received) <= _LONGEST_LINE:
                try:
                    part = self.end.recv(_PART)
                except ConnectionError:
                    part = b""
                if not part:
                    self.is_gone = True
                    break
                self._received += part
        *lines, self._received = self._received.split(b"\n")
        self.is_gone = self.is_gone or len(self._received) > _LONGEST_LINE
        for line in lines:
            try:
                yield msgspec.json.decode(line, type=GuardLine)
            except UNREADABLE_JSON:
                self.is_gone = True
                return
            self.has_spoken = True

    def takes(self, id: str, answer: Answer) -> bool:
        """Whether an answer can still be given: the first, or a no after one that allows."""
        sent = [line.answer for line in self.sent.get(id, ())]
        return not sent or (answer == "deny" and "deny" not in sent)

    def send(self, line: AnswerLine) -> bool:
        try:
            self.end.sendall(msgspec.json.encode(line) + b"\n")
        except (OSError, UnicodeEncodeError):
            return False
        self.sent.setdefault(line.id, []).append(line)
        return True

    def take_back(self, mark: str) -> None:
        """Forget an answer of which the guard takes no notice."""
        left = {id: [line for line in sent if line.mark != mark] for id, sent in self.sent.items()}
        self.sent = {id: sent for id, sent in left.items() if sent}


class ApprovalWindow:
    """All that waits for a person, while this is open. Any thread may call it."""

    def __init__(self, folder: Path, source: Source = "terminal") -> None:
        """`source` is what its answers are known by."""
        self._folder = folder
        self._source: Source = source
        self._place: tuple[Path, int] | None = None
        self._guards: dict[Path, _Guard] = {}
        self._unusable: dict[Path, float] = {}
        self._ended: deque[Ended] = deque(maxlen=_REMEMBERED)
        self._notes: deque[EndNote] = deque(maxlen=_NOTES)
        self._refused: dict[str, str] = {}
        self._changing = threading.RLock()

    def __enter__(self) -> ApprovalWindow:
        self.asks()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave what waits to the other windows; without any, it is denied. `asks` opens anew."""
        with self._changing:
            if self._place is not None:
                os.close(self._place[1])
                self._place = None
            for guard in self._guards.values():
                guard.is_gone = True
                guard.end.close()
            self._guards.clear()

    @property
    def denies_when_closed(self) -> bool:
        """Whether nobody is left to ask without this window."""
        with self._changing:
            return self._place is not None and not has_window(self._folder, self._place[0])

    def asks(self) -> tuple[Ask, ...]:
        """What waits for an answer, oldest first. Raises PolicyError where no window can be."""
        with self._changing:
            if self._place is not None and place_of(self._place[0]) != place_of(self._place[1]):
                os.close(self._place[1])  # it was removed, so guards see no window
                self._place = None
            if self._place is None:
                self._place = join_windows(self._folder)
            return self.look()

    def look(self) -> tuple[Ask, ...]:
        """The same for who only looks, and is not there to be asked."""
        with self._changing:
            self._find_guards()
            for path, guard in list(self._guards.items()):
                self._listen_to(guard)
                if guard.is_gone:
                    guard.end.close()
                    del self._guards[path]
            found = [ask for guard in self._guards.values() for ask in guard.asks.values()]
            return tuple(sorted(found, key=lambda ask: ask.asked))

    def ended(self) -> tuple[Ended, ...]:
        """The last questions that were answered or went away, oldest first, as far as known."""
        with self._changing:
            if self._place is not None:
                self.look()
            return tuple(self._ended)

    def end_of(self, id: str) -> Ended | None:
        """How a question ended, if it did and is remembered."""
        return next((end for end in reversed(self.ended()) if end.ask.id == id), None)

    def given(self) -> dict[str, Answer]:
        """What was answered here to what waits, and is not confirmed yet."""
        with self._changing:
            sent = [
                (id, lines) for guard in self._guards.values() for id, lines in guard.sent.items()
            ]
            return {id: lines[-1].answer for id, lines in sent}

    def answer(self, id: str, answer: Answer, *, rule: str = "") -> bool:
        """Answer a question; whether it is this answer that ended it. `ended` says how it did.

        "always" is for a rule that a person has read: the guard writes it, if the answer counts.
        """
        mark = self.send(id, answer, rule)
        end = self.end_of(id)
        return bool(mark) and end is not None and end.mark == mark

    def send(self, id: str, answer: Answer, rule: str = "") -> str:
        """Send an answer and wait for what comes of it; its mark, or nothing if it was not sent."""
        with self._changing:
            self.look()
            guard = next((one for one in self._guards.values() if id in one.asks), None)
            if guard is None or not guard.takes(id, answer):
                return ""
            mark, digest = os.urandom(8).hex(), guard.asks[id].digest
            if not guard.send(AnswerLine(id, digest, answer, self._source, mark, rule)):
                return ""
        until = time.monotonic() + ANSWER_SECONDS
        while self._waits(guard, id, mark) and time.monotonic() < until:
            _wait_for([guard], _TICK)
        return mark

    def _waits(self, guard: _Guard, id: str, mark: str) -> bool:
        with self._changing:
            if guard.is_gone:  # so is this window
                return False
            self.look()
            return id in guard.asks and mark not in self._refused

    def note_of(self, id: str) -> EndNote | None:
        """How a question ended that may have done so before this was opened."""
        return next((note for note in reversed(self._notes) if note.id == id), None)

    def problem_of(self, mark: str) -> str:
        """Why a guard took no notice of an answer, if it did not."""
        return self._refused.get(mark, "")

    def hint_if_unknown(self) -> str:
        """What to tell whoever asks for a question that no guard here has."""
        if all(guard.has_spoken for guard in self._guards.values()):
            return ": `claw approvals list` shows those that do"
        return " as far as is known: a guard that may have it does not reply; try again"

    def _find_guards(self) -> None:
        now = time.monotonic()
        self._unusable = {path: at for path, at in self._unusable.items() if at > now}
        known = {*self._guards, *self._unusable}
        if not (new := [path for path in sockets_in(self._folder) if path not in known]):
            return
        silent, running = list[_Guard](), running_guards()
        for path in new:
            # A link leads to where this is connected already.
            is_link = place_of(path) in map(place_of, self._guards)
            end = None if is_link else _connected(path, running)
            if end is None:
                self._unusable[path] = now + _AGAIN_SECONDS
            else:
                self._guards[path] = _Guard(end)
                silent.append(self._guards[path])
        while silent and time.monotonic() < now + _FIRST_SECONDS:
            _wait_for(silent, _TICK)
            for guard in silent:
                self._listen_to(guard)
            silent = [guard for guard in silent if not (guard.has_spoken or guard.is_gone)]

    def _listen_to(self, guard: _Guard) -> None:
        for line in guard.lines():
            guard.asks.update({ask.id: ask for ask in line.asks})
            self._notes.extend(line.ended)
            for refusal in line.refused:
                self._refused[refusal.mark] = refusal.problem
                guard.take_back(refusal.mark)
            for note in line.ended:
                self._end(guard, note)
        over = time.time() - _GRACE
        for id, ask in list(guard.asks.items()):
            if guard.is_gone or ask.deadline <= over:
                # Another window may have answered: nothing is known here of what came of it.
                self._end(guard, EndNote(id, "unknown" if guard.is_gone else "silent"))

    def _end(self, guard: _Guard, note: EndNote) -> None:
        guard.sent.pop(note.id, None)
        ask = guard.asks.pop(note.id, None)
        if ask is not None:
            self._ended.append(Ended(**msgspec.structs.asdict(note), ask=ask))


def _connected(path: Path, running: Container[int]) -> socket.socket | None:
    """A connection to the guard that listens there; what a guard left behind is removed."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end.setblocking(False)
    try:
        end.connect(os.fspath(path))
        peer = PeerProcess(end)
        # A guarded server that listens there would put its own questions before a person.
        if peer.is_same_user() and not peer.is_guarded(running):
            return end
    except ConnectionRefusedError:
        with suppress(OSError):
            path.unlink()
    except OSError:  # it is gone, or has many others to accept
        pass
    end.close()
    return None


def _wait_for(guards: Iterable[_Guard], seconds: float) -> None:
    """Wait until one of them says something, so long at most."""
    coming = select.poll()
    for guard in guards:
        with suppress(OSError, ValueError):  # another thread has closed it
            coming.register(guard.end, select.POLLIN)
    coming.poll(1000 * seconds)


class ScriptOutcome(msgspec.Struct, frozen=True):
    """What a script is told of its answer: why it is not what became of the call, if it is not."""

    state: Literal["counted", "otherwise", "unconfirmed", "refused"]
    problem: str = ""


def answer_by_script(folder: Path, id: str, answer: Answer) -> ScriptOutcome | None:
    """Answer a question without a window of one's own; None where no window is open."""
    if not has_window(folder):
        return None
    window = ApprovalWindow(folder, "script")
    try:
        mark = window.send(id, answer)
        if problem := window.problem_of(mark):
            return ScriptOutcome("refused", problem)
        if (end := window.note_of(id)) is not None:
            if mark and end.mark == mark and not end.problem:
                return ScriptOutcome("counted")
            return ScriptOutcome("otherwise", not_counted(end, answer, None))
        if mark:
            return ScriptOutcome("unconfirmed", unconfirmed(answer))
        return ScriptOutcome("refused", f"no question {id!r} waits{window.hint_if_unknown()}")
    finally:
        window.close()


def answer_pending(folder: Path, id: str, answer: Answer) -> str | None:
    """The same: "" when done, else why not."""
    outcome = answer_by_script(folder, id, answer)
    return None if outcome is None else outcome.problem


def pending(folder: Path) -> list[Ask] | None:
    """What waits, oldest first; None where no window is open."""
    if not has_window(folder):
        return None
    window = ApprovalWindow(folder)
    try:
        return list(window.look())
    finally:
        window.close()
