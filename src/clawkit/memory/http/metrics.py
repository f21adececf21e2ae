"""Figures for Prometheus: what was asked, how long it took, what was refused, what there is.

Names of tools and methods are the known ones, so no caller can make new series. Beings are named
only where that is asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_PREFIX = "clawkit_being_"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = tuple[tuple[str, str], ...]


class Histogram:
    """How many seconds requests took, cumulated when it is written."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str, labels: Labels) -> Iterable[str]:
        total = 0
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self._counts, strict=True):
            total += count
            yield _line(f"{name}_bucket", (*labels, ("le", bound)), total)
        yield _line(f"{name}_sum", labels, round(self._sum, 6))
        yield _line(f"{name}_count", labels, total)


class Metrics:
    """Everything counted since this process began."""

    def __init__(self, *, per_being: bool = False) -> None:
        self._per_being = per_being
        self._requests: Counter[Labels] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._limited: Counter[Labels] = Counter()
        self.bridges_opened = 0

    def count(self, *, tool: str, method: str, status: int, seconds: float, being: str) -> None:
        """One request that is over."""
        labels = {"tool": tool, "method": method, "status": str(status)}
        if self._per_being:
            labels["being"] = being
        self._requests[tuple(labels.items())] += 1
        if tool:
            self._seconds.setdefault(tool, Histogram()).add(seconds)
        if status == 429:
            self._limited[()] += 1

    def text(self, gauges: Mapping[str, tuple[str, Mapping[Labels, float]]]) -> str:
        """All of it in Prometheus' words; `gauges` say what there is at this moment."""
        found = [
            *_family("requests_total", "counter", "Requests by tool and status."),
            *_lines("requests_total", self._requests),
            *_family("rate_limited_total", "counter", "Requests refused as too many."),
            *_lines("rate_limited_total", self._limited or {(): 0}),
            *_family("bridges_opened_total", "counter", "Connections of bridges."),
            *_lines("bridges_opened_total", {(): self.bridges_opened}),
            *_family("request_seconds", "histogram", "How long tool calls took."),
        ]
        for tool, histogram in sorted(self._seconds.items()):
            found += histogram.lines(f"{_PREFIX}request_seconds", (("tool", tool),))
        for name, (explanation, values) in gauges.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            found += [*_family(name, kind, explanation), *_lines(name, values)]
        return "\n".join(found) + "\n"


def _family(name: str, kind: str, explanation: str) -> tuple[str, str]:
    return f"# HELP {_PREFIX}{name} {explanation}", f"# TYPE {_PREFIX}{name} {kind}"


def _lines(name: str, values: Mapping[Labels, float]) -> list[str]:
    return [_line(_PREFIX + name, labels, value) for labels, value in sorted(values.items())]


def _line(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{{{inner}}} {value}" if inner else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
