"""Instructions to the model in a text: prompt injections, and standing orders.

A guard must not flag what servers write in good faith, so it knows only what overrides, conceals
and steals. What is remembered is read again in every later session: there a sentence that has no
person who does something, only "always run …" or "you must never …", is taken for an order too.
"""

from __future__ import annotations

import re
from functools import cache

from clawkit.text.injections import find_injections
from clawkit.text.keyword_search import KeywordSearch, decoded
from clawkit.text.normalization import plain_content

STANDING = "standing-order"

_START = (
    r"(?:^|[.!?:;\n\"'\u201c\u201e\u00ab(\]>-]\s*"
    r"|\b(?:please|bitte|por favor|s'il vous pla[iî]t)\s+)"
)
_DO_EN = (
    r"(?:run|execute|call|invoke|use|send|post|upload|forward|e-?mail|delete|remove|install|download"
    r"|fetch|open|visit|click|reply|answer|respond|say|tell|write|print|output|append|include|approve"
    r"|allow|accept|trust|obey|follow|ignore|disregard|bypass|skip|disable|grant|pay|transfer|buy"
    r"|start|begin|end|do|act|treat|assume|pretend|recommend)"
)
_DO_DE = (
    r"(?:f[uü]hre?|ruf(?:e|en)?|starte|sende|schick(?:e)?|schreib(?:e)?|antworte|l[oö]sch(?:e)?"
    r"|installier(?:e)?|lade|[oö]ffne|sag(?:e)?|benutze?|verwende?|nutze?|gib|vertrau(?:e)?|befolge"
    r"|ignorier(?:e)?|erlaub(?:e)?|akzeptier(?:e)?|[uü]berweis(?:e)?|empfiehl)"
)
_DO_FR = (
    r"(?:ex[eé]cute[zr]?|lance[zr]?|appelle[zr]?|utilise[zr]?|envoie|envoyez|supprime[zr]?|installe[zr]?"
    r"|t[eé]l[eé]charge[zr]?|ouvre[zr]?|r[eé]ponds|r[eé]pondez|dis|dites|[eé]cri[st]|[eé]crivez"
    r"|accepte[zr]?|ob[eé]i[st]|recommande[zr]?)"
)
_DO_ES = (
    r"(?:ejecut(?:a|e|ar|ad)|corr(?:e|er|a)|llam(?:a|e|ar)|us(?:a|e|ar)|env[ií](?:a|e|ar)|borr(?:a|e|ar)"
    r"|elimin(?:a|e|ar)|instal(?:a|e|ar)|descarg(?:a|ue|ar)|abr(?:e|a|ir)|respond(?:e|a|er)|di(?:ga)?|decir"
    r"|escrib(?:e|a|ir)|acept(?:a|e|ar)|recomiend(?:a|e))"
)
_END_DE = (
    r"(?:ausf[uü]hren|aufrufen|senden|schicken|l[oö]schen|antworten|installieren|verwenden"
    r"|benutzen|befolgen|[oö]ffnen)"
)
_WHEN = r"(?:whenever|every time|each time|(?:before|after) (?:each|every|any))"
_YOU_MUST = r"\byou\s+(?:must|shall|are required to|are ordered to|have to)"
_ALWAYS_ZH = r"(?:始终|始終|总是|總是|永远|永遠|必须|必須|务必|務必|立即|一定要)(?:要|先|再|首先)?"
_DO_ZH = (
    r"(?:运行|運行|执行|執行|调用|調用|发送|發送|删除|刪除|安装|安裝|下载|下載|打开|打開|回答|回复|回覆"
    r"|使用|遵循|服从)"
)
_SOME = r"(?:[^\s.!?]+\s+)"
_ORDERS = (
    rf"{_START}(?:always|never|immediately|must)\s+(?:first\s+|also\s+|then\s+)?{_DO_EN}\b",
    rf"{_START}{_WHEN}\b[^.!?\n]{{0,80}}?[,:]\s*(?:always\s+|first\s+|you must\s+)?{_DO_EN}\b",
    rf"{_YOU_MUST}\s+(?:always|never|now|first)\s+{_DO_EN}\b",
    rf"{_START}{_DO_DE}\s+{_SOME}{{0,2}}?(?:immer|stets|sofort|niemals|nie)\b",
    rf"{_START}(?:immer|stets|niemals|sofort)\s+{_SOME}{{0,5}}?{_END_DE}\b",
    rf"\bdu\s+musst\s+{_SOME}{{0,3}}?(?:immer|stets|sofort|niemals|nie)\b",
    rf"{_START}(?:toujours|jamais|imm[eé]diatement)\s+{_DO_FR}\b",
    rf"{_START}(?:n[e']\s*)?{_DO_FR}\s+(?:toujours|jamais|imm[eé]diatement)\b",
    rf"\b(?:tu dois|vous devez)\s+(?:toujours|imm[eé]diatement)\s+{_DO_FR}\b",
    rf"{_START}(?:siempre|nunca|inmediatamente)\s+{_DO_ES}\b",
    rf"{_START}{_DO_ES}\s+(?:siempre|inmediatamente)\b",
    rf"\b(?:debes|tienes que|debe)\s+(?:siempre|nunca)\s+{_DO_ES}\b",
    rf"{_ALWAYS_ZH}{_DO_ZH}",
)
_STEMS = (
    *("always", "never", "immediately", "must ", "whenever", "every time", "each time", "before e"),
    *("before a", "after e", "after a", "you ", "immer", "stets", "sofort", "nie", "musst"),
    *("toujours", "jamais", "diatement", "siempre", "nunca", "inmediatamente"),
    *("始", "总", "總", "永", "必", "务", "務", "立", "一定"),
)
"""One of these is in every order of this kind."""


@cache
def _stems() -> KeywordSearch:
    return KeywordSearch(stem.encode() for stem in _STEMS)


@cache
def _standing() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{order})" for order in _ORDERS), re.MULTILINE)


def find_instructions(text: str) -> tuple[str, ...]:
    """The names of the kinds of orders that a text gives."""
    found = find_injections(text)
    content = plain_content(text)
    if not _stems().places(content) or not _standing().search(decoded(content)):
        return found
    return (*found, STANDING)
