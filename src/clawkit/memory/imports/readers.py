"""Reads memories that were kept elsewhere: Markdown notes, conversations, and graphs of entities.

In Markdown, each paragraph or list item is a memory under its headings. Its day is that of its
heading (`## 2026-01-02`), else of the front matter, else of the file's name, else the day on which
the file was last changed. Markdown is parsed only as far as tells where one thought ends and the
next begins.

Conversations and the official MCP memory server's graph are JSON lines. Each observation of a graph
is a memory, without a day, for the file has none. What relates an entity to others becomes its
relationship.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

import msgspec
from msgspec import Struct

from clawkit.errors import UNREADABLE_JSON, BeingError
from clawkit.memory.bundle import FORMAT
from clawkit.memory.records import Scene, utc
from clawkit.text.calendar.named_days import resolved_on
from clawkit.text.normalization import shortened
from clawkit.text.tokenizer import cut
from clawkit.wire.jsonrpc import as_object

_BOM = b"\xef\xbb\xbf"
LONGEST_ACTION = 20_000
_MILLISECONDS = 1e11
"""Numbers above this are times in milliseconds: in seconds they would be after the year 5000."""


class ImportedMemory(Struct, frozen=True):
    """A memory as it was kept elsewhere; `place` says in which file, or in which conversation.

    One that is not `dated` has the day on which its file was last changed.
    """

    scene: Scene
    place: str
    speaker: str = ""
    dated: bool = True


class ImportedMessage(Struct, frozen=True):
    """A message of a conversation that was had elsewhere."""

    role: str
    text: str
    at: float
    conversation: str
    speaker: str = ""


class ImportedRelation(Struct, frozen=True):
    """How one entity stands to others, each in a line."""

    entity: str
    kind: str
    lines: tuple[str, ...]


class ImportProblem(Struct, frozen=True):
    """A line that could not be read."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.what}"


class ImportedFiles(Struct, frozen=True):
    """All that was found in a file or a folder."""

    memories: tuple[ImportedMemory, ...] = ()
    messages: tuple[ImportedMessage, ...] = ()
    relations: tuple[ImportedRelation, ...] = ()
    problems: tuple[ImportProblem, ...] = ()
    files: int = 1


Format = Literal["bundle", "markdown", "jsonl", "server-memory"]
FORMATS: tuple[Format, ...] = get_args(Format)
_LOOKED_AT = 64 * 1024


def format_of(place: Path) -> Format:
    """The format of a file by its first line; a folder is Markdown."""
    if place.is_dir() or place.suffix.lower() in ENDINGS:
        return "markdown"
    first = _first_object(place)
    if first.get("kind") == "bundle" and first.get("format") == FORMAT:
        return "bundle"
    if first.get("type") in ("entity", "relation"):
        return "server-memory"
    if "role" in first and "content" in first:
        return "jsonl"
    raise BeingError(
        f"{place}: what this is cannot be told by its first line: "
        f"say --format {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
    )


def read(place: Path, kind: Format, *, as_memories: bool = False) -> ImportedFiles:
    """Read a file or folder of any format but a bundle, which is loaded as a whole."""
    readers: dict[str, Callable[[Path], ImportedFiles]] = {
        "markdown": read_markdown,
        "jsonl": lambda file: read_conversations(file, as_memories=as_memories),
        "server-memory": read_graph,
    }
    if place.is_dir() and kind != "markdown":
        raise BeingError(f"{place} is a folder, and {kind} is a file")
    return readers[kind](place)


def _first_object(file: Path) -> dict[str, Any]:
    with _readable(file), file.open("rb") as opened:
        start = opened.read(_LOOKED_AT)
    for line in start.removeprefix(_BOM).split(b"\n"):
        if not line.strip():
            continue
        try:
            return msgspec.json.decode(line, type=dict[str, Any])
        except UNREADABLE_JSON:
            return {}
    return {}


class _SourceFile:
    """The bytes of a file, and the lines of it that could not be read."""

    def __init__(self, file: Path, name: str) -> None:
        self.name = name
        self.problems: list[ImportProblem] = []
        with _readable(file):
            self.data = file.read_bytes().removeprefix(_BOM)
            self.changed = file.stat().st_mtime

    def wrong(self, line: int, what: str) -> None:
        self.problems.append(ImportProblem(self.name, line, what))


@contextmanager
def _readable(file: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise BeingError(f"{file} cannot be read: {error.strerror}") from None


def _day_of(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def _moment_of(value: str | float) -> float:
    """Seconds since 1970 of an ISO time, or of a number; raises ValueError."""
    if isinstance(value, str):
        value = utc(value.strip()).timestamp()
    seconds = value / 1000 if value > _MILLISECONDS else float(value)
    datetime.fromtimestamp(seconds, UTC)
    return seconds


_decode = msgspec.json.Decoder(dict[str, Any]).decode


class _JsonLines(_SourceFile):
    """The objects of a file; what is none is a problem."""

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(self.data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                yield number, _decode(line)
            except RecursionError:  # what it says differs from Python to Python
                self.wrong(number, "this is no JSON object: nested too deeply")
            except ValueError as error:
                self.wrong(number, f"this is no JSON object: {error}")


ROLES = ("user", "assistant", "system", "tool")
_LONGEST_NAME = 200


def read_conversations(file: Path, *, as_memories: bool = False) -> ImportedFiles:
    """The messages of a file; with `as_memories`, each of them as a memory of its own."""
    lines = _JsonLines(file, file.name)
    found: list[tuple[ImportedMessage, bool]] = []
    at, dated = lines.changed, False
    for number, line in lines:
        try:
            one = _spoken(line, file.name, at)
        except ValueError as error:
            lines.wrong(number, str(error))
            continue
        at, dated = one.at, dated or line.get("timestamp") is not None
        if one.text:
            found.append((one, dated))
    problems = tuple(lines.problems)
    if as_memories:
        kept = tuple(one for said, dated in found for one in _kept_message(said, dated=dated))
        return ImportedFiles(kept, problems=problems)
    return ImportedFiles(messages=tuple(said for said, _ in found), problems=problems)


def _spoken(line: dict[str, Any], name: str, at: float) -> ImportedMessage:
    """One message; without a time of its own, that of the one before it."""
    role = line.get("role")
    if role not in ROLES:
        raise ValueError(f"`role` must be one of {', '.join(ROLES)}, not {role!r}"[:200])
    time = line.get("timestamp")
    if time is not None:
        at = _moment(time)
    conversation = _text(line, "conversation", needed=False) or name
    speaker = _text(line, "speaker", needed=False)[:_LONGEST_NAME]
    return ImportedMessage(role, _content(line), at, conversation[:_LONGEST_NAME], speaker)


def _moment(time: Any) -> float:
    try:
        if isinstance(time, str | int | float) and not isinstance(time, bool):
            return _moment_of(time)
    except (ValueError, OverflowError, OSError):
        pass
    raise ValueError(f"`timestamp` must be an ISO time or seconds since 1970, not {time!r}"[:200])


def _content(line: dict[str, Any]) -> str:
    """A text, or the texts among the parts that models' programs write."""
    content = line.get("content")
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, list):
        parts = map(as_object, cast("list[Any]", content))
        texts = (part.get("text") for part in parts if part is not None)
        return "\n".join(text for text in texts if isinstance(text, str)).strip()
    raise ValueError("`content` must be a text, or a list of parts with texts")


def _kept_message(said: ImportedMessage, *, dated: bool) -> list[ImportedMemory]:
    speaker = said.speaker or said.role
    when = (_day_of(said.at),)
    return [
        ImportedMemory(Scene(action, (speaker,), days), said.conversation, speaker, dated)
        for text in cut(said.text, LONGEST_ACTION)
        for action, days in [_with_days(text, when) if dated else (text, when)]
    ]


def _with_days(text: str, when: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The days that it names, counted from when it was said, if there is room for them."""
    action, days = resolved_on(text, when)
    return (action, days) if len(action) <= LONGEST_ACTION else (text, when)


_UNKNOWN = "entity"


def read_graph(file: Path) -> ImportedFiles:
    lines = _JsonLines(file, file.name)
    memories: list[ImportedMemory] = []
    kinds: dict[str, str] = {}
    related: dict[str, list[str]] = defaultdict(list)
    for number, line in lines:
        try:
            if line.get("type") == "entity":
                name, kind = _text(line, "name"), _text(line, "entityType")
                kinds.setdefault(name, kind)
                memories += _observed(name, kind, line, file.name)
            elif line.get("type") == "relation":
                said = f"{_text(line, 'relationType')} {_text(line, 'to')}"
                related[_text(line, "from")].append(said)
            else:
                raise ValueError('`type` must be "entity" or "relation"')
        except ValueError as error:
            lines.wrong(number, str(error))
    relations = tuple(
        ImportedRelation(name, kinds.get(name, _UNKNOWN), tuple(dict.fromkeys(said)))
        for name, said in related.items()
    )
    return ImportedFiles(tuple(memories), relations=relations, problems=tuple(lines.problems))


def _observed(name: str, kind: str, line: dict[str, Any], file: str) -> list[ImportedMemory]:
    try:
        observations = msgspec.convert(line.get("observations", []), list[str])
    except msgspec.ValidationError:
        raise ValueError("`observations` must be a list of texts") from None
    found: list[ImportedMemory] = []
    for text in map(str.strip, observations):
        about = text if name.casefold() in text.casefold() else f"{name}: {text}"
        found += [
            ImportedMemory(Scene(action=part, actors=(name,), themes=(kind,)), file)
            for part in cut(about, LONGEST_ACTION)
            if text
        ]
    return found


def _text(line: dict[str, Any], name: str, *, needed: bool = True) -> str:
    value = line.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise ValueError(f"`{name}` must be a text")
    return value.strip()


_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*)$")
_CLOSING = re.compile(r"(?:^|(?<=\s))#+$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})\s*$")
_RULE = re.compile(r" {0,3}([-*_])(?:\s*\1){2,}\s*$")
_ITEM = re.compile(r"(\s*)(?:[-*+•]|\d{1,9}[.)])\s+(.*)$")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_QUOTE = re.compile(r"^(?: {0,3}>\s?)+")
_COMMENT = re.compile(r"<!--(?:(?!<!--).)*?-->")
_TAB = 4


class Block(Struct, frozen=True):
    """One thought, with the headings and the list items that it stands under."""

    line: int
    text: str
    headings: tuple[str, ...]
    above: tuple[str, ...] = ()


class MarkdownBlocks:
    """Splits lines into blocks."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        self._items: list[tuple[int, str]] = []
        self._text: list[str] = []
        self._line = 0
        self._indent: int | None = None
        self._fence = ""

    def read(self, lines: Sequence[str], first: int = 1) -> Iterator[Block]:
        """The blocks of these lines, whose numbers begin with `first`."""
        for number, line in enumerate(lines, first):
            if self._fence:
                yield from self._code(line)
            else:
                yield from self._line_of_text(number, line)
        yield from self._end()

    def _code(self, line: str) -> Iterator[Block]:
        if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self._fence = ""
            yield from self._end("\n")
        else:
            self._text.append(line.rstrip())

    def _line_of_text(self, number: int, line: str) -> Iterator[Block]:
        if fence := _FENCE.match(line):
            yield from self._end()
            self._fence, self._line = fence[1], number
            return
        line = _COMMENT.sub("", _QUOTE.sub("", line)).rstrip().expandtabs(_TAB)
        if self._text and self._indent is None and (under := _UNDERLINE.match(line)):
            self._begin_heading(1 if under[1][0] == "=" else 2, " ".join(self._text))
            self._text = []
        elif not line.strip() or _RULE.match(line):
            yield from self._end()
        elif heading := _HEADING.match(line):
            yield from self._end()
            self._begin_heading(len(heading[1]), _CLOSING.sub("", heading[2]).rstrip())
        elif item := _ITEM.match(line):
            yield from self._end()
            self._begin_block(number, len(item[1]))
            self._indent, self._text = len(item[1]), [item[2]]
        else:
            if not self._text:
                self._begin_block(number, len(line) - len(line.lstrip()))
            self._text.append(line.strip())

    def _begin_heading(self, level: int, text: str) -> None:
        self._headings = [one for one in self._headings if one[0] < level] + [(level, text)]
        self._items = []

    def _begin_block(self, number: int, indent: int) -> None:
        """Leave the list items that it does not stand under."""
        self._items = [one for one in self._items if one[0] < indent]
        self._line, self._indent = number, None

    def _end(self, joined: str = " ") -> Iterator[Block]:
        text = joined.join(part for part in self._text if part or joined == "\n").strip()
        if text:
            headings, above = (tuple(one for _, one in x) for x in (self._headings, self._items))
            yield Block(self._line, text, headings, above)
            if self._indent is not None:
                self._items.append((self._indent, text))
        self._text, self._indent = [], None


ENDINGS = (".md", ".markdown")
_DAY = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")
_FRONT_MATTER_FENCE = re.compile(r"---\s*$")
_DATES = ("date", "created", "day")
_TAGS = ("tags", "tag", "keywords", "categories")
_LONGEST_ABOVE = 120
_LONGEST_FRONT = 20_000
_LINE_END = re.compile(rb"\r\n?|\n")
_MARK = " / "


def read_markdown(place: Path) -> ImportedFiles:
    """A file, or every Markdown file in a folder and those below it, in their order."""
    files = [place] if place.is_file() else _files(place)
    if not files:
        raise BeingError(f"{place}: there is no Markdown file in this folder")
    root = place.parent if place.is_file() else place
    memories: list[ImportedMemory] = []
    problems: list[ImportProblem] = []
    for file in files:
        name = file.relative_to(root).as_posix()
        if file != place and file.is_symlink() and not _leads_into(root, file):
            what = "this is a link to something outside of the folder"
            problems.append(ImportProblem(name, 1, what))
            continue
        found = _Notes(file, name)
        memories += found.memories()
        problems += found.problems
    return ImportedFiles(tuple(memories), problems=tuple(problems), files=len(files))


def _files(folder: Path) -> list[Path]:
    found = (file for file in folder.rglob("*") if file.suffix.lower() in ENDINGS)
    there = [(file.relative_to(folder).parts, file) for file in found if file.is_file()]
    return [file for parts, file in sorted(there) if not any(p.startswith(".") for p in parts)]


def _leads_into(folder: Path, link: Path) -> bool:
    # Whoever made the folder must not choose among the other files of its reader.
    return link.resolve().is_relative_to(folder.resolve())


class _Notes(_SourceFile):
    """One file of notes in Markdown."""

    def __init__(self, file: Path, name: str) -> None:
        super().__init__(file, name)
        self._stem = file.stem
        self._day = ""
        self._tags: tuple[str, ...] = ()

    def memories(self) -> list[ImportedMemory]:
        lines = self._lines()
        start = self._front_matter(lines)
        self._day = self._day or day_in(self._stem)
        blocks = MarkdownBlocks().read(lines[start:], start + 1)
        return [one for block in blocks for one in self._kept(block)]

    def _lines(self) -> list[str]:
        found: list[str] = []
        if b"\0" in self.data and "\ufffd" in self.data.decode(errors="replace"):
            self.wrong(1, "this is no text in UTF-8")
            return found
        for number, line in enumerate(_LINE_END.split(self.data), 1):
            try:
                found.append(line.decode())
            except UnicodeDecodeError:
                self.wrong(number, "this is not UTF-8")
                found.append("")
        return found

    def _front_matter(self, lines: list[str]) -> int:
        """Read what stands before the text; gives how many lines that are."""
        if not lines or not _FRONT_MATTER_FENCE.match(lines[0]):
            return 0
        end = next(
            (at for at, line in enumerate(lines[1:], 1) if _FRONT_MATTER_FENCE.match(line)), 0
        )
        if not end:
            return 0  # a line across the page
        text = "\n".join(lines[1:end])
        if len(text) > _LONGEST_FRONT:
            self.wrong(1, "the front matter is too long to be read")
        else:
            self._properties(text)
        return end + 1

    def _properties(self, text: str) -> None:
        import yaml

        try:
            # Only texts and lists of them: no value means anything else, or can fail to.
            found: Any = yaml.load(text, yaml.BaseLoader)
        except (yaml.YAMLError, RecursionError) as error:
            mark: Any = getattr(error, "problem_mark", None)
            self.wrong(mark.line + 2 if mark else 1, "the front matter is not YAML")
            return
        if not isinstance(found, dict):
            return
        items = cast("dict[Any, Any]", found).items()
        values = {name.lower(): value for name, value in items if isinstance(name, str)}
        for name in _DATES:
            value = values.get(name)
            if not value:
                continue
            self._day = day_in(value) if isinstance(value, str) else ""
            if not self._day:
                shown = f": {value[:50]!r}" if isinstance(value, str) else ""
                self.wrong(1, f"`{name}` in the front matter is no date{shown}")
            break
        for name in _TAGS:
            self._tags += tuple(_tags(values.get(name)))

    def _kept(self, block: Block) -> Iterator[ImportedMemory]:
        days = [self._day, *map(day_in, block.headings)]
        day = next((day for day in reversed(days) if day), "")
        headings = [one for one in block.headings if not _is_day(one)]
        if not headings and not _is_day(self._stem):
            headings = [self._stem]
        above = [shortened(one, _LONGEST_ABOVE) for one in block.above]
        for text in cut(block.text, LONGEST_ACTION):
            scene = Scene(
                action=text,
                when=(day or _day_of(self.changed),),
                setting=_MARK.join((*headings, *above)),
                themes=self._tags,
            )
            yield ImportedMemory(scene, self.name, dated=bool(day))


def day_in(text: str) -> str:
    """The first day that a text names with digits, as YYYY-MM-DD."""
    for year, month, day in _DAY.findall(text):
        try:
            return date(int(year), int(month), int(day)).isoformat()
        except ValueError:
            continue
    return ""


def _is_day(text: str) -> bool:
    return bool(day_in(text)) and not re.search(r"[^\W\d_]", _DAY.sub("", text))


def _tags(value: Any) -> Iterator[str]:
    listed: list[Any] = re.split(r"[,;]", value) if isinstance(value, str) else value or []
    for one in listed:
        tag = one.strip().lstrip("#") if isinstance(one, str) else ""
        if tag:
            yield tag
