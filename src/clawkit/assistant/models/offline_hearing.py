"""Takes in what a person says, one sentence after the other."""

from __future__ import annotations

from clawkit.assistant.models import offline_forms as forms
from clawkit.assistant.models.offline_facts import read_fact
from clawkit.assistant.models.offline_memory import Memory, Told
from clawkit.assistant.models.offline_sentences import Sentence, facts_in, read_sentence
from clawkit.assistant.models.offline_words import sentences


def take_in(memory: Memory, text: str) -> None:
    """Keep what an earlier message told."""
    for sentence in sentences(text):
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
    facts = facts_in(sentence) if sentence.act == "tell" else []
    return [memory.tell(fact) for fact in facts], []


def is_correction(text: str) -> bool:
    """Whether a text changes something that it does not name."""
    return any(
        forms.CORRECTION.match(read_sentence(sentence).text) and forms.CORRECTING.search(sentence)
        for sentence in sentences(text)
    )


def tells(text: str) -> bool:
    """Whether a text has a fact in it."""
    read = map(read_sentence, sentences(text))
    return any(sentence.act == "tell" and facts_in(sentence) for sentence in read)


def _corrected(memory: Memory, sentence: Sentence, original: str) -> str | None:
    """`Actually, it's green` speaks of what was told last."""
    match = forms.CORRECTION.match(sentence.text)
    last = memory.last()
    if not match or not last or not last.fact.slot or not forms.CORRECTING.search(original):
        return None
    fact = last.fact
    start = fact.text.rfind(fact.value)
    return fact.text[:start] + match.group(1) if fact.value and start > 0 else None
