"""Sums, percentages, dates and times, computed exactly; nothing is evaluated as code."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, Inexact, localcontext
from fractions import Fraction

from clawkit.text.tokenizer import content, stem

_ASKED = re.compile(
    r"^(?:what(?:['’]s| is)|how much is|calculate|compute|was (?:ist|ergibt)|wie ?viel (?:ist|sind)"
    r"|rechne|combien font|cuánto es)?[\s:]*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SYMBOLS = (
    (r"\s*(?:percent|prozent)\b|(?<=\d)\s+(?=%)", "%"),
    (r"%\s*(?:of|von|de)\b", "% *"),
    (r"\bplus\b", "+"),
    (r"\bminus\b|[\u2212\u2013]", "-"),
    (r"\b(?:times|multiplied by|mal|fois|por)\b|(?<=\d)\s*x\s*(?=\d)|[×·]", "*"),
    (r"\b(?:divided by|(?:geteilt )?durch)\b|÷", "/"),
    (r"\^|\bto the power of\b|\bhoch\b", "**"),
)
# As on a pocket calculator: 80 + 10% is 88.
_ADDED_PERCENT = re.compile(r"^(.+?)\s*([+-])\s*([\d.]+)%$")
_SUM = re.compile(r"[\d\s.()*/+-]*[*/+-][\d\s.()*/+-]*")
_CODE = re.compile(r"(?<![\d.])0\d|^\d+([-/.])\d+\1\d+$")
_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}
_LONGEST = 200
_MOST_BITS = 2_000


def compute(text: str) -> str | None:
    """`17*23` as `17 * 23 = 391`; None where the text is no sum."""
    shown = _ASKED.sub("", text.strip()).rstrip("=?!. ")
    for pattern, symbol in _SYMBOLS:
        shown = re.sub(pattern, symbol, shown, flags=re.IGNORECASE)
    shown = " ".join(_NUMBER.sub(_plain, shown).split())
    whole = _ADDED_PERCENT.sub(r"(\1) * (1 \2 \3/100)", shown)
    whole = re.sub(r"([\d.]+)%", r"(\1/100)", whole)
    # Phone numbers and written dates are no sums.
    if len(whole) > _LONGEST or not _SUM.fullmatch(whole) or _CODE.search(shown):
        return None
    try:
        return f"{shown} {_written(_value(ast.parse(whole, mode='eval').body, whole))}"
    except ZeroDivisionError:
        return "That divides by zero, which has no result."
    except OverflowError:
        return "That number is too large for me."
    except (SyntaxError, ValueError):
        return None


def _plain(number: re.Match[str]) -> str:
    """`12,500` and `1.234,5` as Python writes them."""
    text = number[0]
    at = max(text.rfind("."), text.rfind(","))
    if at < 0 or re.fullmatch(r"\d{1,3}(?:,\d{3})+|\d{1,3}(?:\.\d{3}){2,}", text):
        return re.sub(r"[.,]", "", text)
    return re.sub(r"[.,]", "", text[:at]) + "." + text[at + 1 :]


def _value(node: ast.expr, source: str) -> Fraction:
    match node:
        case ast.Constant():
            return Fraction(ast.get_source_segment(source, node) or "")
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, source)
        case ast.BinOp() if type(node.op) in _OPERATIONS:
            return _OPERATIONS[type(node.op)](_value(node.left, source), _value(node.right, source))
        case _:
            raise ValueError(ast.dump(node))


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        raise ValueError(exponent)
    bits = max(abs(base.numerator), base.denominator).bit_length()
    if bits * abs(exponent.numerator) > _MOST_BITS:
        raise OverflowError
    return base ** int(exponent)


_OPERATIONS[ast.Pow] = _power


def _written(value: Fraction) -> str:
    with localcontext(prec=_MOST_BITS) as context:
        quotient = Decimal(value.numerator) / Decimal(value.denominator)
        return f"≈ {quotient:.10g}" if context.flags[Inexact] else f"= {quotient:f}"


_TIME = re.compile(
    r"^(?:what(?:['’]s| is) the time|what time is it|wie spät ist es|wie ?viel uhr ist es"
    r"|quelle heure est-il|qué hora es)(?: now| right now| jetzt)?\W*$",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"^(?:what|which|welche|quel|qué|der wievielte)\w*\b.*?(?:day|date|tag|datum|jour|día|ist)\b",
    re.IGNORECASE,
)
_ABOUT_PEOPLE = re.compile(r"\b(?:I|we|you|ich|wir|du|je|tu|yo|eu|io)\b", re.IGNORECASE)
_COUNT = re.compile(r"^(?:how many days|wie ?viele? tage)\b", re.IGNORECASE)
_DAYS = (
    "day days date weekday today tag tage bis zum datum wochentag heute jour sommes dia welcher"
    " viele wieviele"
)
_ABOUT_DAYS = frozenset(map(stem, _DAYS.split()))


def tell_date(text: str) -> str | None:
    """The answer to a question for the time, a day or a number of days; else None."""
    now = datetime.now().astimezone()
    if _TIME.match(text):
        return f"It is {now:%H:%M} ({now:%Z}), {_day(now.date())}."
    if _ABOUT_PEOPLE.search(text):
        return None
    counted = _COUNT.match(text)
    if not counted and not _DATE.match(text.lstrip("¿ ")):
        return None
    from clawkit.text.calendar.named_days import mentions

    named = mentions(text, now.date(), with_doubts=True)
    days = sorted(day for one in named for day in {one.first, one.last})
    rest = text
    for one in reversed(named):
        rest = f"{rest[: one.start]} {rest[one.end :]}"
    # `What day is the deploy?` asks for something else.
    if any(not _ABOUT_DAYS.issuperset(word) for word in content(rest)) or len(days) > 2:
        return None
    if not counted and len(days) < 2:
        day = days[0] if days else now.date()
        return f"{'Today' if day == now.date() else 'That'} is {_day(day)}."
    return _span(*(days if len(days) == 2 else sorted((now.date(), *days)))) if days else None


def _span(first: date, last: date) -> str:
    count = (last - first).days
    return f"{count:,} day{'' if count == 1 else 's'}, from {_day(first)} to {_day(last)}."


def _day(day: date) -> str:
    return f"{day:%A}, {day.isoformat()}"
