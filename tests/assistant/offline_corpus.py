"""Conversations in which facts are planted among talk, to see what a summary keeps of them."""

from __future__ import annotations

from dataclasses import dataclass

from clawkit.models.protocol import Message, Part, Text, ToolCall, ToolOutcome

_EXPLANATIONS = (
    (
        "There are a few ways to look at this. It helps to begin with the simplest one and to "
        "see how far it goes. Most people find that a small step is easier to check than a "
        "large one. After that it is mostly a matter of patience, and of looking at the result "
        "with fresh eyes."
    ),
    (
        "Good question. The short answer is that it depends on what matters to you. Some people"
        " care about speed, others about comfort, and both are fine. A list of the things that "
        "bother you usually makes the choice easier than any comparison does."
    ),
    (
        "Happy to explain. Light is scattered by what it passes through, and shorter waves are "
        "scattered more than longer ones. That is why it looks the way it does around noon and "
        "quite different in the evening, when the light has taken a longer way to get here."
    ),
    (
        "One way is to write it down first and to read it aloud. What sounds odd is often what "
        "reads badly too. Then cut what repeats something, and leave it alone for a while "
        "before the last look. It takes less time than it seems, and the text is better for it."
    ),
)
_CHATTER = (
    "Can you explain why that is so?",
    "Tell me a bit more about that, please.",
    "Thanks!",
    "How would you go about it?",
    "Interesting. And what do other people do?",
    "Ok.",
)


@dataclass(frozen=True)
class Planted:
    """A conversation, and the words that must be left of it."""

    name: str
    messages: tuple[Message, ...]
    facts: tuple[str, ...]
    gone: tuple[str, ...] = ()
    """Words that have been taken back."""


def user(text: str) -> Message:
    return Message("user", (Text(text),))


def assistant(*parts: Part | str) -> Message:
    return Message("assistant", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def _talk(*told: str, between: int = 4, answers: tuple[str, ...] = _EXPLANATIONS) -> list[Message]:
    """What is told, each with an answer, and some rounds of chatter after it."""
    found: list[Message] = []
    for at, text in enumerate(told):
        found += [user(text), assistant("Thank you, that is good to know. " + answers[at % 4])]
        for turn in range(between):
            found.append(user(_CHATTER[(at + turn) % len(_CHATTER)]))
            found.append(assistant(answers[(at + turn) % len(answers)]))
    return found


def _with_tools() -> list[Message]:
    found = _talk("The server's address is 10.20.30.40.", "We decided to use Postgres, not MySQL.")
    for step in range(12):
        call = ToolCall(f"c{step}", "read_log", {"page": step})
        outcome = ToolOutcome(f"c{step}", (Text(f"line {step}: all quiet\n" * 60),))
        found += [
            user("Look at the next page of the log, please."),
            assistant(call),
            Message("tool", (outcome,)),
            assistant("Nothing unusual there."),
        ]
    found.append(user("Which port does the backup use?"))
    return found


CORPUS = (
    Planted(
        "a person",
        tuple(
            _talk(
                "Remember that my favorite color is blue.",
                "My cat is called Miso, and I live in Lisbon.",
                "I'm allergic to nuts.",
                "Anna's phone number is 555 0134.",
                "I never work on Fridays.",
            )
        ),
        ("blue", "Miso", "Lisbon", "allergic to nuts", "Anna", "555 0134", "never work on Fridays"),
    ),
    Planted(
        "a project",
        tuple(
            _talk(
                "The deploy is on Friday at 3pm.",
                "We decided to keep the old login, because Maria needs it until 14 March.",
                "The budget is 12,500 euros and Tom must sign it.",
                "Don't forget that the staging password is in the blue folder.",
            )
        ),
        ("Friday at 3pm", "Maria", "14 March", "12,500 euros", "Tom", "blue folder"),
    ),
    Planted(
        "a change of mind",
        tuple(
            _talk(
                "My favorite color is blue.",
                "I live in Lisbon.",
                "The meeting is on Tuesday.",
                "Actually, it's on Thursday.",
                "My favorite color is green.",
                "My PIN is 9921.",
                "Forget my PIN.",
            )
        ),
        ("favorite color is green", "Lisbon", "on Thursday"),
        ("9921",),
    ),
    Planted(
        "tools",
        tuple(_with_tools()),
        ("10.20.30.40", "Postgres", "Open question: Which port does the backup use?"),
    ),
    Planted(
        "German",
        tuple(
            _talk(
                "Meine Lieblingsfarbe ist Blau.",
                "Ich wohne in Berlin.",
                "Die Besprechung ist am 3. Mai um 14 Uhr.",
            )
        ),
        ("Blau", "Berlin", "3. Mai um 14 Uhr"),
    ),
    Planted(
        "Chinese",
        tuple(_talk("我最喜欢的颜色是蓝色。", "我住在上海。", "会议是3月5日。")),
        ("蓝色", "上海", "3月5日"),
    ),
)
