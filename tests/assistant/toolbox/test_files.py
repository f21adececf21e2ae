from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.assistant.toolbox import python_tools
from clawkit.assistant.toolbox.python_tools import ToolFiles
from clawkit.models.protocol import ToolCall
from tests.assistant.toolbox.boxes import call, names, said, toolbox, write_tools

GREET = """
    from clawkit import Context, claw_tool

    @claw_tool
    def say_hello(name: str, times: int = 1) -> str:
        '''Greet somebody.'''
        return "Hello, " + ", ".join([name] * times) + "!"
"""


@pytest.fixture(autouse=True)
def _clean_imports() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if "tools" in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


async def test_there_may_be_no_folder_at_all(tmp_path: Path) -> None:
    async with toolbox(tmp_path) as box:
        assert await box.specs() == ()
        assert box.problems == ()


async def test_the_tools_in_a_file_are_offered_under_its_name(tmp_path: Path) -> None:
    write_tools(tmp_path, "greeting.py", GREET)
    async with toolbox(tmp_path) as box:
        (spec,) = await box.specs()
        assert spec.name == "mcp__greeting__say-hello"
        assert spec.description == "Greet somebody."
        assert set(spec.input_schema["properties"]) == {"name", "times"}
        result = await call(box, spec.name, name="Ada")
        assert said(result) == result.text == "Hello, Ada!"
        assert not result.outcome.is_error
        assert result.outcome.call_id == "call-1"


async def test_arguments_that_do_not_fit_are_explained(tmp_path: Path) -> None:
    write_tools(tmp_path, "greeting.py", GREET)
    async with toolbox(tmp_path) as box:
        result = await call(box, "mcp__greeting__say-hello", name="Ada", times="many")
        assert result.outcome.is_error
        assert "times" in said(result)


async def test_arguments_that_are_no_object_are_explained(tmp_path: Path) -> None:
    write_tools(tmp_path, "greeting.py", GREET)
    async with toolbox(tmp_path) as box:
        listed = ToolCall("1", "mcp__greeting__say-hello", ["Ada"])  # pyright: ignore[reportArgumentType] - a model may say anything
        result = await box.call(listed)
        assert result.outcome.is_error
        assert "must be a JSON object, not a list" in said(result)


async def test_an_unknown_name_is_answered_with_the_ones_that_are_near(tmp_path: Path) -> None:
    write_tools(tmp_path, "greeting.py", GREET)
    async with toolbox(tmp_path) as box:
        result = await call(box, "say_hello")
        assert result.outcome.is_error
        assert said(result) == (
            "There is no tool called 'say_hello'. Did you mean mcp__greeting__say-hello?"
        )


async def test_a_broken_file_is_a_problem_and_the_rest_works(tmp_path: Path) -> None:
    write_tools(tmp_path, "greeting.py", GREET)
    write_tools(tmp_path, "broken.py", "def (:")
    write_tools(tmp_path, "leaving.py", "raise SystemExit(3)")
    write_tools(tmp_path, "empty.py", "x = 1")
    write_tools(tmp_path, "json.py", GREET)
    write_tools(tmp_path, "msgspec.py", GREET)
    write_tools(tmp_path, "_shared.py", "raise RuntimeError")
    async with toolbox(tmp_path) as box:
        assert await names(box) == ["mcp__greeting__say-hello"]
        broken, empty, stdlib, leaving, installed = box.problems
    assert "broken.py: SyntaxError" in broken
    assert "empty.py: no server and no tools" in empty
    assert "json.py" in stdlib
    assert "leaving.py: SystemExit: 3" in leaving
    assert "msgspec.py: a package of this name is installed" in installed


async def test_a_file_that_never_loads_is_given_up(tmp_path: Path) -> None:
    file = write_tools(tmp_path, "waiting.py", "import threading; threading.Event().wait()")
    files = ToolFiles(file.parent, timeout=0.2)
    await files.refresh()
    assert files.problems() == [f"{file}: takes longer than 0.2 s to load"]


async def test_a_changed_file_is_loaded_again_and_a_new_one_too(tmp_path: Path) -> None:
    write_tools(tmp_path, "greeting.py", GREET)
    async with toolbox(tmp_path) as box:
        await box.specs()
        write_tools(tmp_path, "greeting.py", GREET.replace("Hello", "Salut"))
        write_tools(tmp_path, "parting.py", GREET.replace("Hello", "Goodbye"))
        assert await names(box) == ["mcp__greeting__say-hello", "mcp__parting__say-hello"]
        assert said(await call(box, "mcp__greeting__say-hello", name="Ada")) == "Salut, Ada!"
        (tmp_path / "config" / "tools" / "greeting.py").unlink()
        assert await names(box) == ["mcp__parting__say-hello"]


async def test_a_file_keeps_its_state_while_another_changes(tmp_path: Path) -> None:
    write_tools(
        tmp_path,
        "counting.py",
        """
        from itertools import count
        from clawkit import claw_tool
        numbers = count(1)

        @claw_tool
        def next_number() -> int:
            return next(numbers)
        """,
    )
    async with toolbox(tmp_path) as box:
        await box.specs()
        assert said(await call(box, "mcp__counting__next-number")) == "1"
        write_tools(tmp_path, "greeting.py", GREET)
        await box.specs()
        assert said(await call(box, "mcp__counting__next-number")) == "2"


async def test_files_may_share_one_and_notice_when_it_changes(tmp_path: Path) -> None:
    write_tools(tmp_path, "_words.py", "WORD = 'one'")
    write_tools(
        tmp_path,
        "saying.py",
        """
        from clawkit import claw_tool
        from _words import WORD

        @claw_tool
        def say() -> str:
            return WORD
        """,
    )
    async with toolbox(tmp_path) as box:
        assert await names(box) == ["mcp__saying__say"]
        assert said(await call(box, "mcp__saying__say")) == "one"
        write_tools(tmp_path, "_words.py", "WORD = 'two'")
        await box.specs()
        assert said(await call(box, "mcp__saying__say")) == "two"


async def test_a_tool_that_fails_is_an_error_the_model_can_read(tmp_path: Path) -> None:
    write_tools(
        tmp_path,
        "failing.py",
        """
        import asyncio, sys
        from clawkit import claw_tool

        @claw_tool
        def divide() -> float:
            return 1 / 0

        @claw_tool
        async def leave() -> None:
            sys.exit(1)

        @claw_tool
        async def interrupt() -> None:
            raise KeyboardInterrupt("no more")

        @claw_tool
        async def cancel() -> None:
            raise asyncio.CancelledError

        @claw_tool(timeout=0.05)
        async def sleep() -> None:
            await asyncio.sleep(60)
        """,
    )
    async with toolbox(tmp_path) as box:
        for tool, words in {
            "divide": "ZeroDivisionError: division by zero",
            "leave": "SystemExit: 1",
            "interrupt": "KeyboardInterrupt: no more",
            "cancel": "CancelledError",
            "sleep": "sleep took longer than 0.05 s",
        }.items():
            result = await call(box, f"mcp__failing__{tool}")
            assert result.outcome.is_error
            assert words in said(result)


async def test_progress_is_heard_from_coroutines_and_threads(tmp_path: Path) -> None:
    write_tools(
        tmp_path,
        "counting.py",
        """
        from clawkit import Context, claw_tool

        @claw_tool
        async def slowly(context: Context) -> str:
            context.progress(1, 2)
            context.progress(2, 2, "done soon\\ud800")
            return "done"

        @claw_tool
        def in_a_thread(context: Context) -> str:
            context.progress(1)
            return "done"
        """,
    )
    heard: list[str] = []

    def listen(text: str) -> None:
        heard.append(text)
        raise RuntimeError("a listener that fails")

    async with toolbox(tmp_path) as box:
        assert said(await call(box, "mcp__counting__slowly", listen)) == "done"
        assert said(await call(box, "mcp__counting__in-a-thread", listen)) == "done"
    assert heard == ["1 of 2", "done soon\ufffd", "1"]


STUBBORN = """
    import asyncio
    from clawkit import claw_tool

    events = []
    asleep = asyncio.Event()

    @claw_tool
    async def sleep() -> None:
        asleep.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    @claw_tool(timeout=0.05)
    async def refuse() -> None:
        asleep.set()
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                events.append("refused")
                if len(events) > 2:
                    raise

    @claw_tool
    def happened() -> str:
        return ", ".join(events)
"""


async def test_cancelling_reaches_the_tool(tmp_path: Path) -> None:
    write_tools(tmp_path, "stubborn.py", STUBBORN)
    async with toolbox(tmp_path) as box:
        await box.specs()
        work = asyncio.create_task(call(box, "mcp__stubborn__sleep"))
        await sys.modules["stubborn"].asleep.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert said(await call(box, "mcp__stubborn__happened")) == "cancelled"


async def test_a_tool_that_refuses_to_end_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_tools, "GRACE", 0.1)
    write_tools(tmp_path, "stubborn.py", STUBBORN)
    async with toolbox(tmp_path) as box:
        result = await call(box, "mcp__stubborn__refuse")
        assert result.outcome.is_error
        assert "did not end when it was told to" in said(result)
        work = asyncio.create_task(call(box, "mcp__stubborn__refuse"))
        await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work


async def test_tools_that_cannot_run_here_are_not_offered(tmp_path: Path) -> None:
    write_tools(
        tmp_path,
        "careful.py",
        """
        from clawkit import claw_tool

        @claw_tool(requires_approval=True)
        def erase() -> None: ...

        @claw_tool
        def look() -> None: ...
        """,
    )
    async with toolbox(tmp_path) as box:
        assert await names(box) == ["mcp__careful__look"]
        (problem,) = box.problems
        assert "erase wants a person's approval" in problem


async def test_a_toolbox_that_is_closed_runs_nothing(tmp_path: Path) -> None:
    write_tools(tmp_path, "greeting.py", GREET)
    async with toolbox(tmp_path) as box:
        assert await names(box) == ["mcp__greeting__say-hello"]
    assert (await call(box, "mcp__greeting__say-hello", name="Ada")).outcome.is_error


async def test_a_tool_may_change_its_arguments_without_changing_the_conversation(
    tmp_path: Path,
) -> None:
    write_tools(
        tmp_path,
        "greedy.py",
        """
        from clawkit import claw_tool

        @claw_tool
        def eat(items: list[str]) -> int:
            items.clear()
            return len(items)
        """,
    )
    async with toolbox(tmp_path) as box:
        asked = ToolCall("1", "mcp__greedy__eat", {"items": ["a"]})
        assert said(await box.call(asked)) == "0"
        assert asked.arguments == {"items": ["a"]}
