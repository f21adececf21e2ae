"""Takes in what a person says, one sentence after the other."""

from __future__ import annotations

from clawkit.assistant.offline import forms
from clawkit.assistant.offline.facts import read_fact
from clawkit.assistant.offline.memory import Memory, Told
from clawkit.assistant.offline.sentences import Sentence, facts_in, read_sentence


def take_in(memory: Memory, sentence: str) -> None:
    """Keep what a sentence of an earlier message told."""
    take(memory, read_sentence(sentence), sentence)


def take(memory: Memory, sentence: Sentence, original: str) -> tuple[list[Told], list[Told]]:
    """Keep what a sentence tells, drop what it takes back: what is new, and what is gone."""
    if sentence.act == "forget":
        return [], list(memory.forget(sentence.text))
    if sentence.act not in ("tell", "request"):
        return [], []
    corrected = _corrected(memory, sentence, original)
    if corrected:
        return [memory.tell(read_fact(corrected))], []
    memory.hear(original)
    facts = facts_in(sentence) if sentence.act == "tell" else ()
    return [memory.tell(fact) for fact in facts], []


def is_correction(sentence: str) -> bool:
    """Whether a sentence changes something that it does not name."""
    if not forms.CORRECTING.search(sentence):
        return False
    return forms.CORRECTION.match(read_sentence(sentence).text) is not None


def tells(sentence: str) -> bool:
    """Whether a sentence has a fact in it."""
    read = read_sentence(sentence)
    return read.act == "tell" and bool(facts_in(read))


def _corrected(memory: Memory, sentence: Sentence, original: str) -> str | None:
    """`Actually, it's green` speaks of what was told last."""
    if not forms.CORRECTING.search(original):
        return None
    match = forms.CORRECTION.match(sentence.text)
    last = memory.last()
    if not match or not last or not last.fact.slot:
        return None
    fact = last.fact
    start = fact.text.rfind(fact.value)
    return fact.text[:start] + match.group(1) if fact.value and start > 0 else None
