"""Curves as a picture: SVG written by hand, both axes logarithmic, readable in light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 220, 44, 52
_COLOURS = ("#d1495b", "#2e86ab", "#3c9d5d", "#c07f1d", "#7b5ea7", "#6b7785")
_APART = 15
_LABELS = {3: "k", 6: "M"}


@dataclass(frozen=True)
class Curve:
    """One line: its name and its points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class _Axes:
    """Where a value is on the picture; each axis goes over whole powers of ten."""

    x: tuple[int, int]
    y: tuple[int, int]

    def across(self, value: float) -> float:
        low, high = self.x
        return _LEFT + (math.log10(value) - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    def down(self, value: float) -> float:
        low, high = self.y
        share = (math.log10(value) - low) / (high - low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def plot(title: str, x_name: str, y_name: str, curves: Sequence[Curve]) -> str:
    """The picture of these curves, each with its last value; `y_name` is their measure."""
    axes = _Axes(
        _powers([value for curve in curves for value in curve.x]),
        _powers([value for curve in curves for value in curve.y]),
    )
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    font = 'font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 24, title, size=15),
        *_grid(axes),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, x_name, anchor="middle"),
        *_lines(axes, curves, y_name),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _powers(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _grid(axes: _Axes) -> list[str]:
    parts: list[str] = []
    for power in range(axes.x[0], axes.x[1] + 1):
        at = axes.across(10.0**power)
        parts.append(_line(at, _TOP, at, _HEIGHT - _BOTTOM))
        parts.append(_text(at, _HEIGHT - _BOTTOM + 18, _label(power), anchor="middle"))
    for power in range(axes.y[0], axes.y[1] + 1):
        at = axes.down(10.0**power)
        parts.append(_line(_LEFT, at, _WIDTH - _RIGHT, at))
        parts.append(_text(_LEFT - 8, at + 4, f"{10.0**power:,g}", anchor="end"))
    return parts


def _label(power: int) -> str:
    step = max((size for size in _LABELS if size <= power), default=0)
    return f"{10.0 ** (power - step):g}{_LABELS.get(step, '')}"


def _lines(axes: _Axes, curves: Sequence[Curve], measure: str) -> list[str]:
    parts: list[str] = []
    places = _places([axes.down(curve.y[-1]) for curve in curves])
    for curve, colour, place in zip(curves, _COLOURS, places, strict=False):
        points = [(axes.across(x), axes.down(y)) for x, y in zip(curve.x, curve.y, strict=True)]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        text = f"{curve.name}: {_shown(curve.y[-1])} {measure}"
        parts.append(_text(_WIDTH - _RIGHT + 12, place + 4, text, colour=colour))
    return parts


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _places(wanted: Sequence[float]) -> list[float]:
    """Where the names go: beside the ends of their lines, but never over each other."""
    found = [0.0] * len(wanted)
    last = -math.inf
    for at in sorted(range(len(wanted)), key=lambda at: wanted[at]):
        last = found[at] = max(wanted[at], last + _APART)
    return found


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, colour: str = "#333333"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{colour}">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        'stroke="#dddddd" stroke-width="1"/>'
    )
