"""What a benchmark found: rows of figures, bars met or missed, printed as one table."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

MISSING = math.nan


@dataclass(frozen=True)
class Row:
    """One contender's figures, in the order of the report's columns."""

    name: str
    cells: tuple[float | str, ...]


@dataclass(frozen=True)
class Bar:
    """One promise, the figure that decides it, and whether it holds; None: it was not measured."""

    promise: str
    figure: str
    met: bool | None


@dataclass(frozen=True)
class Report:
    """One benchmark's result."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The same as plain data; a missing figure is null."""
        data = asdict(self)
        data["rows"] = [
            {"name": row.name, **dict(zip(self.columns, map(_plain, row.cells), strict=True))}
            for row in self.rows
        ]
        return data


def _plain(cell: float | str) -> float | str | None:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def times_better(ours: float, theirs: float) -> float:
    """How many times smaller `ours` is."""
    return theirs / ours if ours > 0 else MISSING


def at_least(promise: str, ratio: float, bound: float) -> Bar:
    """A bar on a ratio that must reach `bound`."""
    if math.isnan(ratio):
        return Bar(promise, "not measured", None)
    return Bar(promise, f"{ratio:.1f}", ratio >= bound)


def at_most(promise: str, figure: float, bound: float, unit: str = "") -> Bar:
    """A bar on a figure that must not pass `bound`."""
    if math.isnan(figure):
        return Bar(promise, "not measured", None)
    return Bar(promise, f"{figure:.2f}{unit}", figure <= bound)


def _text(cell: float | str) -> str:
    if isinstance(cell, str):
        return cell
    if math.isnan(cell):
        return "–"
    return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.2f}"


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def table(report: Report) -> str:
    """The report as text: title, figures, verdicts, notes."""
    lines = [("", *report.columns)]
    lines += [(row.name, *map(_text, row.cells)) for row in report.rows]
    header, *body = _aligned(lines)
    verdict = {True: "MET", False: "MISSED", None: "OPEN"}
    bars = [f"{verdict[bar.met]:<6}  {bar.promise}: {bar.figure}" for bar in report.bars]
    notes = [f"note: {note}" for note in report.notes]
    rule = "─" * len(header)
    return "\n".join([f"── {report.name}: {report.title}", header, rule, *body, "", *bars, *notes])
