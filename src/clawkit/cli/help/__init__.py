"""`claw help`: concepts explained in short texts; the first line of each says what it is about."""

from __future__ import annotations

from pathlib import Path

_TEXTS = Path(__file__).with_name("texts")


def topics() -> list[str]:
    return sorted(file.stem for file in _TEXTS.glob("*.txt"))


def summary(topic: str) -> str:
    return text(topic).partition("\n")[0]


def text(topic: str) -> str:
    return (_TEXTS / f"{topic}.txt").read_text(encoding="utf-8")
