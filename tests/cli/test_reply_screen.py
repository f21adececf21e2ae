"""An answer on its way to a terminal: harmless, dressed, and the same however it is cut up."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawkit.cli.markdown import AnswerMarkdown, Blocks, console_for
from clawkit.cli.reply_screen import Stream, harmless
from tests.work_counter import calls

STYLE = re.compile(r"\x1b\[[0-9;]+m")
WORDS = st.lists(
    st.sampled_from(
        ("# ", "**", "*", "`", "```", "\n", " ", "- ", "word", "日本語", "👩\u200d💻", "é", "\t")
    )
    | st.sampled_from(("> ", ">", "1. ", "2) ", "#", "-", "~~~", "\n\n", "    ", "[a](b)", "<b>"))
    | st.sampled_from(("---", "===", "&amp;", "[a]: b", "![a](b)", "\\*", "\\"))
    | st.sampled_from(
        ("MEDIA: a.png", "M", "\r\n", "\r", "\x1b[2J", "\x9b", "\u202e", "2 ** 3", "x" * 30)
    ),
    max_size=30,
).map("".join)
CUTS = st.lists(st.integers(0, 1000), max_size=20)
WIDTH = 40


def places(size: int, cuts: list[int]) -> Iterator[slice]:
    for start, end in pairwise(sorted({0, size, *(cut % (size + 1) for cut in cuts)})):
        yield slice(start, end)


def streamed(text: str, cuts: list[int]) -> str:
    stream = Stream()
    return "".join(stream.feed(text[cut]) for cut in places(len(text), cuts)) + stream.end()


def blocks(text: str, cuts: list[int]) -> list[str]:
    found = Blocks()
    *lines, rest = text.split("\n")
    pieces = ("".join(f"{line}\n" for line in lines[cut]) for cut in places(len(lines), cuts))
    return [*(block for piece in pieces for block in found.feed(piece)), found.end(rest)]


def dressed(text: str, width: int = WIDTH) -> str:
    out = io.StringIO()
    console = console_for(out, width)
    for block in blocks(text, []):
        console.print(AnswerMarkdown(block), crop=False, end="")
    return out.getvalue()


def lines(text: str, width: int = WIDTH) -> list[str]:
    return [line.rstrip() for line in dressed(text, width).split("\n") if line.strip()]


@given(WORDS, CUTS)
@example("a👩\u200d💻b", [1, 2, 3])
@example("end\r\nnext", [4])
def test_it_does_not_matter_how_an_answer_is_cut_up(text: str, cuts: list[int]) -> None:
    assert streamed(text, cuts) == streamed(text, [])


@given(WORDS, CUTS)
@example("```\na\n\nb\n```\nc\n\nd", [1, 2, 3])
def test_nor_does_it_for_its_blocks(text: str, cuts: list[int]) -> None:
    assert blocks(text, cuts) == blocks(text, [])
    assert "\n".join(blocks(text, cuts)) == text


@given(WORDS)
def test_no_character_of_an_answer_can_command_a_terminal(text: str) -> None:
    for shown in (streamed(text, []), STYLE.sub("", dressed(streamed(text, [])))):
        assert all(c.isprintable() or c in "\n\t\u200d" for c in shown), shown


@given(WORDS)
@example("1. a\n1. b\n5. c\n\n```py x\ncode\n```")
@example("<b>word</b> [words](http://a.b 'title') ![p](q) &amp;\n\n[r]: s")
@example("1. > \n2. > >\n3. ")
@example(f"a\tword: {'x' * 34}")
@example(f"- {'x' * 90}\n> {'y' * 90}\n- ```\n  {'z' * 90}\n  ```\n")
def test_the_dress_leaves_every_word_there(text: str) -> None:
    shown = harmless(text)
    letters = re.sub(r"\W", "", STYLE.sub("", dressed(shown)))
    assert letters == re.sub(r"\W", "", shown)


@pytest.mark.parametrize(
    "text",
    [
        f"| a | b |\n|---|---|\n| {'x' * 90} | {'words ' * 9} |",
        f"- | a |\n  |---|\n  | {'y' * 90} |",
        "| a | b |\n|---|---|\n| c | d | e | f |\ng | h \\| i | j\n| k |",
        "> a | b\n> ---|---\n> c | d | e | **f**",
        "|a|b|\n|-|-|\n|c|d|" + "|".join("efghijklmnop"),
        "|" + "|".join("abcdefghijkl") + "|\n" + "|-" * 12 + "|\n|" + "word |" * 12,
    ],
)
def test_nor_is_a_word_lost_in_a_table(text: str) -> None:
    assert sorted(re.findall(r"\w", dressed(text))) == sorted(re.findall(r"\w", text))


def test_a_line_that_names_a_file_to_send_is_left_out() -> None:
    assert streamed("Here:\n  MEDIA: a.png\nDone", [8, 12, 20]) == "Here:\nDone"
    assert streamed("MEDIA: a.png", [3]) == ""
    assert streamed("MEDIAN 5", [5]) == "MEDIAN 5"
    assert streamed("see MEDIA: a.png", []) == "see MEDIA: a.png"


def test_markdown_is_drawn_and_other_text_stays() -> None:
    assert lines("# Title\nwords") == ["Title", "words"]
    assert lines("a **b c** `d`\nnext line") == ["a b c d", "next line"]
    assert lines("2 ** 3 * 4 and 3.14 > 3") == ["2 ** 3 * 4 and 3.14 > 3"]
    assert lines("- one\n* two\n  - three") == [" • one", " • two", "    • three"]
    assert lines("7. seven\n8. eight") == [" 7 seven", " 8 eight"]
    assert lines("1. one\n1. one\n10. ten") == ["  1 one", "  1 one", " 10 ten"]
    assert lines("```py\nx = `1` # **no**\n```\nafter") == ["py", "x = `1` # **no**", "after"]
    assert lines("**never closed\nnext") == ["**never closed", "next"]
    assert lines("text\n---\nmore")[::2] == ["text", "more"]


def test_a_table_is_drawn_in_columns() -> None:
    table = lines("| name | n |\n|---|--:|\n| a | 1 |\n| longer | 22 |", 60)
    assert [line.split() for line in table if "─" not in line] == [
        ["name", "n"],
        ["a", "1"],
        ["longer", "22"],
    ]
    assert len({len(line) for line in table if line.endswith(("1", "2", "n"))}) == 1


def test_styles_and_colours() -> None:
    out = io.StringIO()
    console = console_for(out, WIDTH, styled=True)
    console.print(AnswerMarkdown("# Title\n**bold** `code`\n```python\nreturn 1\n```"))
    assert "\x1b[1;4mTitle" in out.getvalue()
    assert "\x1b[1mbold\x1b[0m \x1b[36mcode\x1b[0m" in out.getvalue()
    assert re.search(r"\x1b\[[0-9;]+mreturn", out.getvalue())


def test_lines_break_between_words_and_not_in_code() -> None:
    text = "one two three four five six seven eight nine ten"
    assert lines(text) == ["one two three four five six seven eight", "  nine ten"]
    assert lines(f"```\n{text}\n```") == [text]
    assert lines("x" * 90) == ["x" * 90]
    assert lines(f"see {'x' * 90} there") == ["see", "x" * 90, "there"]
    assert lines(f"{text} **{'日本' * 30}** end")[-3:] == ["  nine ten", "日本" * 30, "end"]


def test_what_follows_the_first_line_of_a_paragraph_hangs_below_it() -> None:
    words = " ".join(f"word{number:02}" for number in range(20))
    first, *rest = lines(f"{words}\n\n**{words}** end")
    assert first == "word00 word01 word02 word03 word04"
    assert [line for line in rest if not line.startswith("  word")] == [first]
    assert all(len(line) <= WIDTH for line in (first, *rest))
    assert " ".join(" ".join((first, *rest)).split()) == f"{words} {words} end"


def test_what_hangs_together_is_indented_together() -> None:
    text = "one two three four five six seven eight nine ten"
    assert lines(f"- {text}")[1] == "   eight nine ten"
    assert lines(f"12. {text}")[1] == "    eight nine ten"
    quoted = lines(f"> {text}\n>\n\nafter")
    assert quoted[0].startswith("▌ one")
    assert quoted[1:] == ["▌ eight nine ten", "after"]
    exact = lines(f"- {'x' * 37} next")
    assert exact == [f" • {'x' * 37}", "   next"], "a word may end where the line does"
    assert lines(f"1. a\n\n   {text}\n\n2. b") == [
        " 1 a",
        "   one two three four five six seven",
        "   eight nine ten",
        " 2 b",
    ]


def test_what_is_not_complete_is_seen_to_its_end() -> None:
    growing = Blocks()
    numbers = "".join(f"{n}\n" for n in range(100))
    assert list(growing.feed(f"done\n\n```py\n{numbers}")) == ["done\n"]
    assert growing.tail(3) == ["```py", "97", "98", "99"]


@pytest.mark.slow
def test_a_large_piece_costs_in_proportion_to_its_size() -> None:
    text = "some **words** and `code`\n" * 2000

    def cost(size: int) -> int:
        return calls(lambda: dressed(streamed(text[:size], [])))

    cost(1000)  # the widths of its letters are remembered
    assert cost(len(text)) < 2.2 * cost(len(text) // 2)
