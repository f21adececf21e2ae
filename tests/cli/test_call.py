"""`claw call` as a person types it: tools of files, of addresses and of commands."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.claw import CLAW, claw, environment
from tests.guard.terminal import terminal
from tests.nodejs import node_program
from tests.processes import PATIENCE, ROOT, http_server, serving

WEATHER = '''
import asyncio
import os
import sys
from dataclasses import dataclass

from clawkit import Context, Media, SdkMcpServerImpl, claw_tool
from clawkit.errors import AccessError

print("loading")


@claw_tool
def forecast(city: str, days: int = 3) -> str:
    """The weather to come.

    Args:
        city: Where.
        days: How far to look ahead.
    """
    print("thinking")
    os.system("echo a child speaks")
    return f"{days} sunny days in {city}"


@claw_tool(requires_approval=True)
async def ship(guests: list[str], fast: bool, cost: float, context: Context) -> dict:
    """Ship it."""
    context.progress(1, 2)
    context.progress(2, 2, "loaded")
    return {"guests": guests, "fast": fast, "cost": cost}


@claw_tool
def drawing() -> list:
    """A picture, a sound and a document."""
    return [
        "see:",
        Media(b"\\x89PNG\\r\\n\\x1a\\n", "image/png"),
        Media(b"RIFF", "audio/wav"),
        Media(b"%PDF", "application/pdf", name="../../report.pdf"),
    ]


@claw_tool
def fails(why: str) -> str:
    raise ValueError(why)


@claw_tool
def colours() -> str:
    return "\\x1b[31mred\\x1b[0m é"


@claw_tool
async def sleeps() -> str:
    print("asleep", file=sys.stderr, flush=True)
    await asyncio.sleep(3600)


@dataclass
class Amount:
    kilos: int
    gift: bool = False


@claw_tool
async def buy(what: str, context: Context) -> str:
    amount = await context.elicit(f"How much {what}?", Amount)
    if not amount.accepted:
        return amount.action
    sure = await context.elicit("Really?")
    return f"{amount.content.kilos} kg, {amount.content.gift}, {sure.action}"


@claw_tool
def variable(name: str) -> str:
    return os.environ.get(name, "not set")
'''
SELF = """
from dataclasses import dataclass

from clawkit import claw_tool


@dataclass
class Tree:
    name: str
    branches: "list[Tree] | None" = None


@claw_tool
def plant(tree: Tree, height: int) -> str:
    return tree.name
"""
TRIP = """
from dataclasses import dataclass

from clawkit import claw_tool


@dataclass
class Point:
    north: float


@dataclass
class Place:
    city: str
    spot: Point


@claw_tool
def plan(start: Place, stops: list[Place], note: str, more: dict | None = None) -> str:
    return f"{start.city} {len(stops)}"
"""
GUARDED = (
    WEATHER
    + """

def authenticate(request, message):
    if request.headers.get("authorization") != "Bearer let-me-in-please":
        raise AccessError("Who are you?", challenge="Bearer")


server = SdkMcpServerImpl("weather", "1.0.0", authenticate=authenticate)
server.register_tool(forecast)
"""
)


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    path = tmp_path / "weather.py"
    path.write_text(WEATHER)
    return path


def test_a_tool_of_a_file_is_called_and_only_its_result_is_on_stdout(weather: Path) -> None:
    done = claw("call", weather, "forecast", "city=Oslo", "days=2", code=0)
    assert done.stdout == "2 sunny days in Oslo\n"
    assert done.stderr.split("\n") == ["loading", "thinking", "a child speaks", ""]


def test_the_person_who_calls_has_approved_and_sees_how_far_it_is(weather: Path) -> None:
    words = ("guests=Ada", "guests=Grace", "fast=yes", "cost=12.5")
    done = claw("call", weather, "ship", *words, code=0)
    assert json.loads(done.stdout) == {"guests": ["Ada", "Grace"], "fast": True, "cost": 12.5}
    assert "ship: 1 of 2\nship: loaded\n" in done.stderr


def test_values_come_from_stdin_too(weather: Path) -> None:
    by_pipe = claw("call", weather, "forecast", "city=@-", stdin="Oslo\n", code=0)
    whole = claw("call", weather, "forecast", "--input", "-", stdin='{"city": "Oslo"}', code=0)
    assert by_pipe.stdout == whole.stdout == "3 sunny days in Oslo\n"


def test_without_a_tool_they_are_listed_and_help_shows_one(weather: Path) -> None:
    listed = claw("call", weather, code=0).stdout
    assert [line.split()[0] for line in listed.splitlines()[1:4]] == ["forecast", "ship", "drawing"]
    assert f"`claw call {weather} forecast --help` shows how one is called." in listed
    for flag in ("-h", "--help"):
        usage = claw("call", weather, "forecast", flag, code=0).stdout
        assert usage.startswith(f"Usage: claw call {weather} forecast city=… [days=…]\n")
        assert "  days  integer  default 3  How far to look ahead." in usage
    names = [tool["name"] for tool in json.loads(claw("call", weather, "--json").stdout)]
    assert names[:2] == ["forecast", "ship"]
    assert "NAME:=JSON" in claw("call", "--help", code=0).stdout


def test_help_shows_what_is_in_an_object_and_how_it_is_typed(tmp_path: Path) -> None:
    file = tmp_path / "trip.py"
    file.write_text(TRIP)
    usage = claw("call", file, "plan", "--help", code=0).stdout
    words = "start:='{…}' stops:='[…]' note=… [more:='{…}']"
    assert usage.startswith(f"Usage: claw call {file} plan {words}\n")
    assert [line.split()[:3] for line in usage.splitlines() if line.startswith("  ")] == [
        ["start", "object", "required"],
        ["start.city", "string", "required"],
        ["start.spot", "object", "required"],
        ["start.spot.north", "number", "required"],
        ["stops", "object[]", "required"],
        ["stops[].city", "string", "required"],
        ["stops[].spot", "object", "required"],
        ["stops[].spot.north", "number", "required"],
        ["note", "string", "required"],
        ["more", "object"],
    ]
    assert "NAME:=@FILE" in usage
    place = '{"city": "Oslo", "spot": {"north": 59.9}}'
    words = (f"start:={place}", f"stops:=[{place}]", "note=x")
    assert claw("call", file, "plan", *words, code=0).stdout == "Oslo 1\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("forcast",), "claw call: there is no tool 'forcast': did you mean forecast?"),
        (("zzz",), "claw call: there is no tool 'zzz': there is forecast, ship, "),
        (("forecast",), "claw call: forecast: missing: city; `claw call "),
        (("forecast", "ciy=Oslo"), "did you mean city?; `claw call "),
        (("forecast", "city=Oslo", "days=x"), "claw call: forecast: days=x: expected an integer"),
    ],
)
def test_what_cannot_be_called_is_a_usage_error(
    weather: Path, words: tuple[str, ...], problem: str
) -> None:
    done = claw("call", weather, *words, code=2)
    assert problem in done.stderr
    assert done.stdout == ""


def test_a_tool_that_fails_says_why_and_the_status_is_1(weather: Path) -> None:
    done = claw("call", weather, "fails", "why=no luck", code=1)
    assert done.stdout == ""
    assert done.stderr.endswith("claw call: fails: ValueError: no luck\n")
    whole = claw("call", weather, "fails", "why=no luck", "--json", code=1)
    assert json.loads(whole.stdout)["isError"] is True
    command = [*CLAW, "call", weather, "fails", "why=no luck", "--verbose"]
    shown = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert "weather.py" in shown.stderr
    assert "Traceback" in shown.stderr


def test_pictures_sounds_and_files_are_described_or_saved(weather: Path, tmp_path: Path) -> None:
    told = claw("call", weather, "drawing", code=0)
    assert told.stdout == "see:\n"
    assert "[drawing-1.png: image/png, 8 bytes; --save DIR keeps it]" in told.stderr
    folder = tmp_path / "out" / "here"
    for _ in range(2):
        claw("call", weather, "drawing", "--save", folder, code=0)
    assert sorted(path.name for path in folder.iterdir()) == [
        *("drawing-1-2.png", "drawing-1.png", "drawing-2-2.wav", "drawing-2.wav"),
        *("report-2.pdf", "report.pdf"),
    ]
    assert (folder / "report.pdf").read_bytes() == b"%PDF"
    assert not (tmp_path / "report.pdf").exists()


def test_a_pipe_gets_the_text_as_it_is_and_json_in_ascii(weather: Path) -> None:
    assert claw("call", weather, "colours", code=0).stdout == "\x1b[31mred\x1b[0m é\n"
    whole = claw("call", weather, "colours", "--json", code=0).stdout
    assert whole.isascii()
    assert "\x1b" not in whole


def test_a_call_has_its_time(weather: Path) -> None:
    done = claw("call", weather, "sleeps", "--timeout", "0.2", code=1)
    assert "claw call: sleeps took longer than 0.2 s: --timeout SECONDS says" in done.stderr


def test_ctrl_c_ends_a_call_with_130(weather: Path) -> None:
    command = [*CLAW, "call", weather, "sleeps"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())
    assert process.stderr is not None
    with process.stderr as said:
        while "asleep" not in said.readline():
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert said.read() == "claw call: interrupted\n"


def test_a_server_behind_a_command_gets_the_same_call(weather: Path) -> None:
    server = ("--", *serving(weather))
    assert claw("call", "forecast", "city=Oslo", *server, code=0).stdout == "3 sunny days in Oslo\n"
    assert "forecast" in claw("call", *server, code=0).stdout
    usage = claw("call", "forecast", "--help", *server, code=0).stdout
    assert usage.startswith(f"Usage: claw call forecast city=… [days=…] -- {sys.executable} -m")
    assert "missing: city" in claw("call", "forecast", *server, code=2).stderr
    failed = claw("call", "fails", "why=no luck", *server, code=1)
    assert failed.stderr == "claw call: fails: ValueError: no luck\n"
    assert "loading" in claw("call", "colours", "--verbose", *server, code=0).stderr


def test_a_command_gets_what_any_command_of_the_shell_gets(weather: Path) -> None:
    done = claw(
        *("call", "variable", "name=WEATHER_KEY", "--", *serving(weather)),
        env={"WEATHER_KEY": "${not} a template"},
        code=0,
    )
    assert done.stdout == "${not} a template\n"


def test_a_command_that_is_none_or_ends_is_said() -> None:
    missing = claw("call", "forecast", "--", "nonesuch-command", code=1)
    assert "claw call: command not found: 'nonesuch-command'" in missing.stderr
    ends = claw(
        "call", "forecast", "--", sys.executable, "-c", "raise SystemExit('no key')", code=1
    )
    assert "ended at once (exit code 1): no key" in ends.stderr
    assert claw("call", "forecast", "--", code=2).stderr.count("no command behind --") == 1
    assert claw("call", code=2).stderr.count("give a Python file") == 1


def test_a_server_at_an_address_wants_its_token_from_a_variable(tmp_path: Path) -> None:
    file = tmp_path / "guarded.py"
    file.write_text(GUARDED)
    with http_server(file) as url:
        refused = claw("call", "--url", url, "forecast", "city=Oslo", code=1)
        assert "401" in refused.stderr
        assert "give it a key: --token-env NAME" in refused.stderr
        token = {"WEATHER_TOKEN": "let-me-in-please"}
        with_token = ("call", "--url", url, "--token-env", "WEATHER_TOKEN", "forecast", "city=Oslo")
        assert claw(*with_token, env=token, code=0).stdout == "3 sunny days in Oslo\n"
        header = ("--header", "Authorization: Bearer ${WEATHER_TOKEN}")
        assert "forecast" in claw("call", "--url", url, *header, env=token, code=0).stdout
        unset = claw(*with_token, code=2)
        assert unset.stderr == "claw call: ${WEATHER_TOKEN} is not set in the environment\n"
    gone = claw("call", "--url", url, "forecast", "city=Oslo", code=1)
    assert "cannot be reached" in gone.stderr
    secret = claw("call", "--url", url, "--header", "let-me-in-please", code=2)
    assert "let-me-in-please" not in secret.stderr


@pytest.mark.parametrize("behind_a_command", [False, True])
def test_a_tool_may_ask_the_person_at_the_terminal(weather: Path, behind_a_command: bool) -> None:
    words = ["buy", "what=rice"]
    command = [*words, "--", *serving(weather)] if behind_a_command else [str(weather), *words]
    with terminal(*CLAW, "call", *command) as screen:
        screen.shows("? How much rice?", "kilos (integer):")
        screen.type("two\r")
        screen.shows("kilos=two: expected an integer")
        screen.type("2\r")
        screen.shows("gift [yes/no] [false]:")
        screen.type("maybe\r")
        screen.shows("gift=maybe: expected yes or no")
        screen.type("n\r")
        screen.shows("? Really?", "Go on? [yes/no] [no]:")
        screen.type("sure\r")
        screen.shows("answer=sure: expected yes or no")
        screen.type("y\r")
        screen.shows("2 kg, False, accept")
        assert screen.process.wait(PATIENCE) == 0


def test_where_nobody_can_be_asked_a_question_is_an_error_that_says_what_to_do(
    weather: Path,
) -> None:
    advice = "claw call: buy asks whoever calls it: run it in a terminal, to answer\n"
    assert claw("call", weather, "buy", "what=rice", code=1).stderr.endswith(advice)
    behind = ("--", *serving(weather))
    assert claw("call", "buy", "what=rice", *behind, code=1).stderr.endswith(advice)


def test_what_only_the_tool_can_tell_is_wrong_with_the_command_line_is_status_2(
    tmp_path: Path,
) -> None:
    file = tmp_path / "sample.py"
    file.write_text(
        "from datetime import timedelta\n"
        "from clawkit import claw_tool\n\n"
        "@claw_tool\n"
        "def wait(span: timedelta, times: int = 1) -> str:\n"
        "    return str(span)\n"
    )
    for where in ([str(file)], []):
        behind = [] if where else ["--", *serving(file)]
        done = claw("call", *where, "wait", "span=5", *behind, code=2)
        assert "span: must be a duration" in done.stderr
        claw("call", *where, "wait", "span=PT5S", "times:=null", *behind, code=2)
        claw("call", *where, "wait", "span=5", "--json", *behind, code=2)


def test_what_does_not_fit_is_one_line_that_names_the_help(weather: Path) -> None:
    done = claw("call", weather, "buy", "whta=rice", code=2)
    assert done.stderr.removeprefix("loading\n") == (
        "claw call: buy: there is no argument 'whta': did you mean what?; "
        f"`claw call {weather} buy --help` shows how it is called\n"
    )
    assert "more than 0" in claw("call", weather, "buy", "--timeout", "0", code=2).stderr


def test_a_class_that_refers_to_itself_is_shown_once(tmp_path: Path) -> None:
    file = tmp_path / "sample.py"
    file.write_text(SELF)
    shown = claw("call", file, "plant", "--help", code=0).stdout
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("  ")] == [
        "tree",
        "tree.name",
        "tree.branches",
        "height",
    ]


def test_tools_of_the_official_server_are_called_too(tmp_path: Path) -> None:
    place = ROOT / "tests/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    everything = ("--", node_program(), str(place))
    assert "5" in claw("call", "get-sum", "a=2", "b=3", *everything, code=0).stdout
    slow = ("trigger-long-running-operation", "duration=0.2", "steps=2")
    assert f"{slow[0]}: 2 of 2" in claw("call", *slow, *everything, code=0).stderr
    claw("call", "get-tiny-image", "--save", tmp_path / "out", *everything, code=0)
    (saved,) = (tmp_path / "out").iterdir()
    assert saved.read_bytes().startswith(b"\x89PNG")
