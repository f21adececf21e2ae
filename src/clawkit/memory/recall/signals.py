"""What speaks for a memory: one row of numbers for each candidate, one column for each signal.

A remark in a conversation often answers the one before it, so the words and the meaning of its
neighbours count, too. Everything is computed over the candidates at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.memory.people import first_name
from clawkit.memory.recall.question import RecallQuestion, is_sum
from clawkit.memory.records import Node
from clawkit.text import calendar
from clawkit.text.tokenizer import sentences

if TYPE_CHECKING:
    from clawkit.store.arrays import Bools, Floats, Seqs

SIGNALS = (
    *("words", "words_before", "words_after", "words_around"),
    *("meaning", "meaning_top", "meaning_before", "meaning_after", "meaning_around"),
    *("rank_words", "rank_meaning", "both"),
    *("speaker", "other_speaker"),
    *("session_words", "session_meaning", "session_spread"),
    *("time", "length", "asks", "answers_words", "answers_meaning"),
    *("tells_when", "tells_number", "importance"),
    *("mentioned", "recent", "question", "another_self"),
)

_ASKS = re.compile(r"[?\uff1f]\s*(?:\[[^\]]*\]\s*)?$")
# Searched in lower case, which takes a quarter of the time of re.IGNORECASE.
_TELLS_WHEN = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|this (?:week|month|morning)|since|"
    r"weekend|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|april|"
    r"june|july|august|september|october|november|december|\d{4}|just)\b|"
    r"昨日|今日|明日|先週|先月|去年|来週|来月|週末|\d月|\d日",
)
_TELLS_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|once|twice|few|couple|"
    r"hundred|thousand|years?|months?|weeks?|hours?|days?)\b|[一二三四五六七八九十百千]",
)
_ASKS_UNMARKED = re.compile(
    r"(?:(?:please|bitte|por favor|per favore),? )?"
    r"(?:(?:who|what|where|when|why|how|which|whose)"
    r"(?:'s| (?:is|are|was|were|am|do|does|did|has|have|had|can|should|will))\b"
    r"|how (?:old|many|much|often|long|far)\b"
    r"|(?:do|does|did|am|is|are|was|were|can) (?:i|my|we|our)\b"
    r"|(?:wer|wo|wann|warum|wohin|woher|wem|wen|welche[rsnm]?)\s"
    r"|(?:was|wie) (?:ist|sind|war|heißt|heisst|habe|hat|alt|viel|lange|oft)\b"
    r"|(?:quién|qué|cuándo|dónde|cómo|cuál)\s|(?:qui|quand|où|comment) (?:est|sont|ai|habite)\b"
    r"|(?:forget|tell me|vergiss|erzähl mir|sag mir|olvida|dime|oublie|dis-moi)\b)[^.!,;:]*$",
    re.IGNORECASE,
)
"""A question or an order as people type it, without any mark."""
_TELLS_WHILE_ASKING = re.compile(
    r"\b(?:remember (?:that|this|how|when)|(?:note|remind me) that|keep in mind|can you believe"
    r"|did (?:i|you) (?:tell|mention|hear|know|notice)|have i (?:told|mentioned)|guess (?:what|who)"
    r"|do you know that|isn['’]t it \w+ that"
    r"|merk\w* dir|erinnerst du dich,? dass|we(?:iß|iss)t du,? dass|wusstest du"
    r"|hab\w* ich (?:\w+ ){0,3}(?:erzählt|gesagt)"
    r"|recuerda que|sab(?:es|ías|ias) que|te (?:dije|conté|he dicho|he contado)"
    r"|t['’]ai(?:-je)? (?:déjà )?dit|(?:tu )?sa(?:is|vais)(?:-tu)? que"
    r"|(?:lo )?sa(?:i|pevi) che|ti ho (?:già )?(?:detto|raccontato)|já te (?:disse|contei)|wist je"
    r")\b"
    r"|(?:\d|[ap]\.m)\.\s+\w[^.!…]*\?\s*$"
    r"|\b(?:(?:i|we|my|our|ich|wir|mein\w*|je|nous|mon|soy|tengo|estoy|sono|ho|sou|tenho|estou|ik"
    r"|mijn)\b|j['’])[^,?]{3,},[^?]*\?\s*$"
    r"|,\s*(?:right|okay|ok|huh|eh|isn['’]t (?:\w+ ?){1,2}|\w+n['’]t (?:it|he|she|they|i|we|you)"
    r"|(?:is|did|does|was) (?:it|he|she|they)|oder|nicht wahr|gell|no|verdad|n['’]est-ce pas|hein"
    r"|vero|né|não é|toch|правда|değil mi)\s*\?\s*$",
    re.IGNORECASE,
)
"""Says something with a question: "Did you know that …?", "I'm diabetic, may I …?", "…, right?"."""
_WANTS_DONE = re.compile(
    r"(?:(?:ok(?:ay)?|thanks|danke|so|now|and|hey|hi)[ ,.!]+)*(?:please |bitte )?"
    r"(?:(?:can|could|would|will) you|help me|make me|give me|remind me|show me|write|draft|reword"
    r"|translate|summari[sz]e|rephrase|suggest|recommend|convert|calculate|list|explain|add"
    r"|ideas for"
    r"|(?:kannst|könntest|würdest) du|können sie|hilf mir|mach mir|gib mir|zeig mir|erinner\w* mich"
    r"|schreib\w*|übersetz\w*|formulier\w*|empfiehl\w*|erklär\w*|rechne|berechne|fass"
    r"|(?:me )?pu?edes|podrías|ayúdame|hazme|dame|escribe\w*|traduce\w*|recomiénda\w*|recuérdame"
    r"|(?:peux|pourrais)-tu|tu (?:peux|pourrais)|aide-moi|fais-moi|donne-moi|écris\w*|traduis\w*"
    r"|rappelle-moi|(?:puoi|potresti)|aiutami|scrivi\w*|traduci\w*|(?:podes|pode|poderia)s?|escreve\w*"
    r"|(?:kun|kan) je|schrijf|vertaal|можешь|напиши|переведи|yazar m\u0131s\u0131n|çevir)\b"
    r"(?!.{0,20}(?:remember|note|merk|recordar|retenir|ricorda|lembra|onthou))",
    re.IGNORECASE,
)
"""What somebody wants written, reckoned or found, however much of it they tell."""
_COMMAND = re.compile(r"(?:claw [a-z-]+|/[a-z]+)(?: \S+){0,3}$")
"""What somebody typed for the program and not for the memory, also if there is no such command."""
_CANCELS = re.compile(
    r"\b(?:cancel(?:l?ed|s)|called off|is off|was off|falls through|fell through|not happening"
    r"|abgesagt|sag\w+ \w+ ab|fällt (?:\w+ ){0,2}aus|fallen (?:\w+ ){0,2}aus|ausgefallen|gestrichen"
    r"|doch nicht|cancelad[oa]s?|anulad[oa]s?|suspendid[oa]s?|annulée?s?|annullat[oaie]"
    r"|disdett[oaie]|afgezegd|gaat niet door|отмен\w+|iptal)\b|中止|取り消|キャンセル|取消|취소",
)
"""Says that something does not take place."""
_CHANGES = re.compile(
    r"\b(?:now|new|no longer|not any ?more|instead|mov(?:ed|es|ing)|chang(?:ed|es)|switch(?:ed|es)"
    r"|cancel(?:l?ed|s)|postponed|raised|reduced|cut|from now on|as of|since|starting|stopped|quit"
    r"|sold|swapped|replaced|retired|traded in|ga?ve (?:up|away)|rescheduled|shifted"
    r"|brought forward|increased|lowered|returned|(?:brought|gave|got) (?:\w+ ){0,3}back"
    r"|jetzt|neue[rsnm]?|neu|nicht mehr|kein\w* \w+ mehr|statt|stattdessen|verschoben|vorgezogen"
    r"|wechsel\w*|gekündigt|nur noch|ab|seit|umgezogen|abgesetzt|erhöht|sondern|doch erst"
    r"|verkauft|verschenkt|eingetauscht|ersetzt|verlegt|künftig|zurück(?:gebracht|gegeben|bekommen)"
    r"|(?:me|nos) (?:he |hemos )?mud\w+|aplazad[oa]s?|en adelante|reemplaz\w+|sustitu\w+"
    r"|devuelt[oa]s?|devolvi(?:ó|eron)|vendid[oa]s?|vend(?:í|ió|imos)"
    r"|déménag\w+|emménag\w+|reportée?s?|remplac\w+|dorénavant|à la place|rendue?s?|vendue?s?"
    r"|spostat[oaie]|rinviat[oaie]|rimandat[oaie]|trasferit[oaie]|sostituit[oaie]|d['’]ora in poi"
    r"|restituit[oaie]|vendut[oaie]"
    r"|mud(?:ei|ou|ámos|amos|aram|ad[oa]s?)|adiad[oa]s?|troc(?:ei|ou|ad[oa]s?)|doravante|afinal"
    r"|devolv(?:i|eu|emos|eram|id[oa]s?)|vend(?:i|eu|emos|eram|id[oa]s?)"
    r"|verhui(?:s|z)\w*|verplaatst|verschoven|verzet|uitgesteld|vervroegd|gewijzigd|verander\w*"
    r"|vervangen|in plaats van|voortaan|vanaf|sinds|tegenwoordig|verkocht|verhoogd|verlaagd"
    r"|opgezegd|gestopt|overgestapt|geen \w+ meer|terug(?:gebracht|gegeven|gekregen)"
    r"|ahora|ya no|nuev[oa]s?|en vez de|en lugar de|cambi\w+|desde|a partir"
    r"|maintenant|désormais|ne \w+ plus|n['’]\w+ plus|nouve(?:au|lle|l)s?|au lieu|chang\w+|à partir"
    r"|adesso|ora|nuov[oaie]|invece|non \w+ più|agora|nov[oa]s?|em vez|já não|nu|nieuwe?|niet meer"
    r"|теперь|больше не|нов\w+|вместо|art\u0131k|yeni|şimdi)\b"
    rf"|{_CANCELS.pattern}"
    r"|今は|これから|新しい|やめ|変わ|変え|现在|不再|新的|改|이제|새로|더 이상",
)
"""Says that something is otherwise than it was."""
_HOME = re.compile(
    r"\b(?:i|we)(?:['’]ve| have|['’]m| am|['’]re| are)? (?:(?:just|now|all|both|recently) )?"
    r"(?:liv(?:e|ed|ing) (?:in|at|on|near|by|with)|mov(?:ed|ing) (?:to|into|in|back|house)\b)"
    r"|\b(?:ich|wir) (?:wohne?n?|lebe?n?)\b|\b(?:ich bin|wir sind)\b.{0,60}\b(?:um)?gezogen\b"
    r"|\bviv(?:o|imos) en\b|\b(?:me|nos) (?:he |hemos )?mud\w+"
    r"|\b(?:j['’]habite|(?:nous )?habitons|on habite)\b|\b(?:j['’]ai|avons|on a) (?:dé|em)ménagé\b"
    r"|\b(?:abit(?:o|iamo)|viv(?:o|iamo) a)\b|\b(?:mi sono|ci siamo) trasferit\w"
    r"|\bmor(?:o|amos) (?:em|n[oa]s?)\b|\bme mudei\b|\bmudei-me\b|\bmudámo-nos\b"
    r"|\b(?:ik woon|w(?:e|ij) wonen)\b|\b(?:ik ben|w(?:e|ij) zijn)\b.{0,60}\bverhuisd\b",
)
"""Says of its speaker where they live, or that they moved: words for it that are little alike."""
_SHORT = 80
_TYPICAL_LENGTH = 4.0
_MONTH = 30 * 86_400.0


class Candidates(msgspec.Struct, frozen=True):
    """Memories that may answer, in the order of their numbers, and what the indexes say of them."""

    nodes: tuple[Node, ...]
    words: Floats
    """The BM25 score of each."""

    meaning: Floats
    """The cosine of each with the question."""

    best_words: float
    """The best BM25 score of all memories."""


def matrix(
    question: RecallQuestion, candidates: Candidates, wanted: Iterable[str] = SIGNALS
) -> Floats:
    """A row for each candidate, a column for each of `SIGNALS`; what is not `wanted` is 0."""
    nodes = candidates.nodes
    words: Floats = candidates.words / np.float32(max(candidates.best_words, 1e-6))
    meaning: Floats = np.maximum(candidates.meaning, np.float32(0.0))
    near = _Neighbours(nodes)
    above: Floats = meaning / np.float32(max(float(meaning.max(initial=0.0)), 1e-6))
    sessions = near.conversations

    @cache
    def asks() -> Floats:
        return np.array([_is_asked(node.scene.action) for node in nodes], np.float32)

    @cache
    def spoken() -> Floats:
        return _spoken_by(nodes, question.named)

    columns: Mapping[str, Callable[[], Floats]] = {
        "words": lambda: words,
        "words_before": lambda: near.at(words, -1),
        "words_after": lambda: near.at(words, 1),
        "words_around": lambda: np.maximum(near.at(words, -2), near.at(words, 2)),
        "meaning": lambda: meaning,
        "meaning_top": lambda: above,
        "meaning_before": lambda: near.at(above, -1),
        "meaning_after": lambda: near.at(above, 1),
        "meaning_around": lambda: np.maximum(near.at(above, -2), near.at(above, 2)),
        "rank_words": lambda: _by_rank(words),
        "rank_meaning": lambda: _by_rank(meaning),
        "both": lambda: words * above,
        "speaker": spoken,
        "other_speaker": lambda: 1 - spoken() if question.named else spoken(),
        "session_words": lambda: _best_of(words, sessions),
        "session_meaning": lambda: _best_of(above, sessions),
        "session_spread": lambda: _mean_of_best(words + above, sessions),
        "time": lambda: _in_time(nodes, question.days),
        "length": lambda: _lengths(nodes),
        "asks": asks,
        "answers_words": lambda: near.at(asks(), -1) * near.at(words, -1),
        "answers_meaning": lambda: near.at(asks(), -1) * near.at(above, -1),
        "tells_when": lambda: _tells(nodes, question.asks_when, _TELLS_WHEN),
        "tells_number": lambda: _tells(nodes, question.asks_for_number, _TELLS_NUMBER),
        "importance": lambda: np.array([one.scene.importance - 0.5 for one in nodes]),
        "mentioned": lambda: mentioned(nodes, question.named),
        "recent": lambda: _recent(nodes, question.now),
        "another_self": lambda: _of_another(nodes, question),
        "question": lambda: np.array([only_asks(one.scene.action) for one in nodes]),
    }
    found = np.zeros((len(nodes), len(SIGNALS)), np.float32)
    for name in wanted:
        found[:, SIGNALS.index(name)] = columns[name]()
    return found


class _Neighbours:
    """Who stands next to whom in the same conversation."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        numbers: dict[str, int] = {}
        # What was said in no conversation stands alone.
        names = [node.source.conversation or f"\x00{at}" for at, node in enumerate(nodes)]
        self.conversations = np.array([numbers.setdefault(name, len(numbers)) for name in names])
        self._seqs = np.array([node.seq for node in nodes])
        self._places: dict[int, tuple[Seqs, Bools]] = {}

    def at(self, values: Floats, step: int) -> Floats:
        """The value of the one so many steps away, 0 where nobody is."""
        if step not in self._places:
            wanted, own = self._seqs + step, self.conversations
            places = np.minimum(np.searchsorted(self._seqs, wanted), len(wanted) - 1)
            self._places[step] = places, (self._seqs[places] == wanted) & (own[places] == own)
        places, there = self._places[step]
        return values[places] * there


def _is_asked(text: str) -> bool:
    return ("?" in text or "\uff1f" in text) and _ASKS.search(text) is not None


def _by_rank(values: Floats) -> Floats:
    """1 for the best, a half for the sixth, a third for the eleventh; 0 for a zero."""
    ranks = np.empty(len(values), np.float32)
    ranks[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return np.where(values > 0, 5.0 / (5.0 + ranks), 0.0).astype(np.float32)


def _best_of(values: Floats, groups: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    best = np.zeros(int(groups.max(initial=-1)) + 1, np.float32)
    np.maximum.at(best, groups, values)
    return best[groups]


def _mean_of_best(values: Floats, groups: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """The mean of the three best of each conversation: one that speaks of it at length."""
    order = np.lexsort((-values, groups))
    ordered = groups[order]
    first = np.searchsorted(ordered, ordered)
    top = order[np.arange(len(order)) - first < 3]
    return (np.bincount(groups[top], values[top]) / 3).astype(np.float32)[groups]


def _spoken_by(nodes: Sequence[Node], named: Collection[str]) -> Floats:
    """Whether a memory is of somebody who was named.

    That is the one who told it, else those who take part in it, else whoever its words name.
    """
    first_names = {name.split(" ")[0] for name in named}
    return np.array([bool(named) and _is_of(node, first_names) for node in nodes], np.float32)


def _is_of(node: Node, first_names: set[str]) -> bool:
    if node.source.speaker and node.source.conversation:
        return first_name(node.source.speaker) in first_names
    if not first_names.isdisjoint(map(first_name, node.scene.actors)):
        return True
    words = node.scene.action.casefold()
    return any(name in words for name in first_names)


def mentioned(nodes: Sequence[Node], named: Collection[str]) -> Floats:
    """The share of those who were named whom a memory is about: told by them, or of them."""
    if not named:
        return np.zeros(len(nodes), np.float32)
    first_names = [name.split(" ")[0] for name in named]
    return np.array([_share_of(first_names, node) for node in nodes], np.float32)


def _share_of(first_names: Sequence[str], node: Node) -> float:
    people = {*map(first_name, node.scene.actors), first_name(node.source.speaker)}
    words = f"{node.scene.action} {node.scene.context}".casefold()
    return sum(name in people or name in words for name in first_names) / len(first_names)


def _of_another(nodes: Sequence[Node], question: RecallQuestion) -> Floats:
    """Whether somebody else said it, where the asker asks about themselves."""
    if not question.asker or question.named != frozenset((question.asker,)):
        return np.zeros(len(nodes), np.float32)
    others = [bool(one.source.speaker) and one.source.speaker.casefold() for one in nodes]
    return np.array([bool(one) and one != question.asker for one in others], np.float32)


def _recent(nodes: Sequence[Node], now: float) -> Floats:
    """1 for what was said today, a half for a month ago, towards 0 for years."""
    ages = np.array([max(0.0, now - node.created) / _MONTH for node in nodes], np.float32)
    return (1 / (1 + ages)).astype(np.float32)


def only_asks(text: str) -> bool:
    """Whether somebody asked this, or wanted it done, reckoned or forgotten, and told nothing."""
    unmarked = len(text) < _SHORT and (_ASKS_UNMARKED.match(text) or _COMMAND.match(text))
    asks = unmarked or is_sum(text) or _asks_throughout(text)
    return bool(asks) and not _TELLS_WHILE_ASKING.search(text)


def _asks_throughout(text: str) -> bool:
    return _is_asked(text) and text.count("?") + text.count("\uff1f") >= len(sentences(text))


def wants_done(text: str) -> bool:
    """Whether it is an order to do something now, and not to remember it."""
    return _WANTS_DONE.match(text) is not None


def says_change(text: str) -> bool:
    """Whether it says that something is otherwise than it was."""
    return _CHANGES.search(text.lower()) is not None


def tells_home(text: str) -> bool:
    """Whether its speaker says where they live, or that they moved."""
    return _HOME.search(text.lower()) is not None


def says_cancelled(text: str) -> bool:
    """Whether it says that something does not take place."""
    return _CANCELS.search(text.lower()) is not None


def _in_time(nodes: Sequence[Node], asked: Sequence[calendar.Range]) -> Floats:
    if not asked:
        return np.zeros(len(nodes), np.float32)
    return np.array([calendar.fit(node.scene.when, asked) for node in nodes], np.float32)


def _lengths(nodes: Sequence[Node]) -> Floats:
    """0 for a remark of usual length, below for a short one; in bytes, as kanji say more."""
    sizes = np.array([len(node.scene.action.encode()) for node in nodes], np.float32)
    return np.clip(np.log1p(sizes) - _TYPICAL_LENGTH, -3.0, 1.5).astype(np.float32)


def _tells(nodes: Sequence[Node], is_asked: bool, told: re.Pattern[str]) -> Floats:
    if not is_asked:
        return np.zeros(len(nodes), np.float32)
    return np.array([bool(told.search(node.scene.action.lower())) for node in nodes], np.float32)
