"""The page around the pages: how it is opened, through what, and that it shows text as text."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from clawkit.console import app
from clawkit.text.normalization import visible
from clawkit.wire.http.uvicorn_server import listen
from tests.claw import CLAW, finished
from tests.console.browser import RunningConsole, Visitor, running_console, visiting
from tests.console.ssh import free_port, ssh_tunnel, who_logs_in
from tests.guard.approvals import until
from tests.guard.terminal import terminal


def test_a_link_opens_the_console_and_vanishes_from_the_address(
    visitor: Visitor, console: RunningConsole
) -> None:
    page = visitor.open(console.link)
    assert page.url == f"{console.origin}/"
    page.reload()
    visitor.ready("approvals")
    expect(page.locator("#connection")).to_have_text("Live")


@pytest.mark.usefixtures("claw_home")
def test_claw_ui_is_the_same_command(visitor: Visitor) -> None:
    with running_console(command="ui") as console:
        assert visitor.open(console.link).title() == "Approvals · Clawkit console"


def test_a_link_that_was_used_says_what_to_do(browser: Browser, console: RunningConsole) -> None:
    with visiting(browser) as first:
        first.open(console.link)
    with visiting(browser) as second:
        second.page.goto(console.link)
        expect(second.page.get_by_role("alert")).to_contain_text("was used already")
        # Nobody can press Enter there: its input is no terminal.
        expect(second.page.get_by_role("alert")).to_contain_text("start it again for another link")


def test_cookies_of_other_programs_on_this_machine_lock_nobody_out(
    visitor: Visitor, console: RunningConsole
) -> None:
    """They are for 127.0.0.1 and localhost, whatever the port, and the console has another name."""
    others = [
        {"name": f"other{number}", "value": "x" * 4000, "url": f"http://{host}:1"}
        for number in range(150)
        for host in ("127.0.0.1", "localhost")
    ]
    odd = {"name": "odd", "value": '{"a": [1], b}', "url": console.origin}
    visitor.page.context.add_cookies([odd, *others])  # pyright: ignore[reportArgumentType]
    page = visitor.open(console.link)
    page.reload()
    visitor.ready("approvals")
    expect(page.locator("#connection")).to_have_text("Live")


def test_enter_in_the_terminal_prints_another_link(claw_home: Path, browser: Browser) -> None:  # noqa: ARG001 - in that home
    with terminal(*CLAW, "console", "--no-open", "--port", "0", width=160) as screen:
        screen.shows("Press Enter for another link.")
        screen.type("\r")
        until(lambda: screen.text.count("#open=") == 2)
        link = screen.text.rpartition("http://")[2].split()[0]
        with visiting(browser) as visitor:
            visitor.open(f"http://{link}")
        with visiting(browser) as late:
            late.page.goto(f"http://{link}")
            expect(late.page.get_by_role("alert")).to_contain_text("press Enter in the terminal")


def test_over_ssh_it_says_how_to_open_a_tunnel_and_works_through_it(
    claw_home: Path,  # noqa: ARG001 - in that home
    visitor: Visitor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 5 10.0.0.2 22")
    for name, value in who_logs_in().items():
        monkeypatch.setenv(name, value)
    with terminal(*CLAW, "console", "--port", "0", width=200) as screen:
        screen.shows("-L ")
        until(lambda: screen.text.count("-L ") == 2)
        link = re.search(r"http://[\w.-]+:(\d+)/#open=[\w-]+", screen.text)
        ends = re.findall(r'-L "?([^ "]+:(\d+)):(127\.0\.0\.1:\d+)', screen.text)
        assert link is not None
        assert [end for end, _, _ in ends] == [f"127.0.0.1:{link[1]}", f"[::1]:{link[1]}"]
        assert {far for _, _, far in ends} == {f"127.0.0.1:{link[1]}"}
        near = free_port()  # the other end is this machine, too, where its port is taken
        with ssh_tunnel(*(f"{end.replace(port, str(near))}:{far}" for end, port, far in ends)):
            page = visitor.open(link[0].replace(f":{link[1]}/", f":{near}/"))
            expect(page.locator("#connection")).to_have_text("Live")
            visitor.go("policy")
            page.get_by_label("Call", exact=True).fill("read_file path=/a")
            page.get_by_role("button", name="Decide").click()
            expect(page.get_by_role("alert").first).to_contain_text("claw policy init")
            page.goto("about:blank")


def test_a_guarded_server_may_not_open_a_console() -> None:
    done = finished(*CLAW, "console", "--no-open", env={"CLAW_GUARDED": "1"}, code=1)
    assert "may not answer for a person" in done.stderr


def test_the_help_of_all_commands_loads_no_server() -> None:
    check = (
        "import sys\nfrom clawkit.cli import main\nsys.argv = ['claw', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([n for n in ('starlette', 'uvicorn') if n in sys.modules])"
    )
    assert finished(CLAW[0], "-c", check, code=0).stdout.endswith("[]\n")


FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
HIDDEN = [
    *(
        "plain",
        "na\xefve caf\xe9",
        "日本語",
        "\u05e9\u05dc\u05d5\u05dd",
        "\u0645\u06cc\u200c\u062e\u0648",
    ),
    *(
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "\u2764\ufe0f",
        "\u2764\ufe0f\u200d\U0001f525",
        FLAG,
    ),
    *("a\u202eb", "a\u200bb", "a\u2066b", "\ufeffa", "a\x1b[31mb", "a\x00b", "\x9ba", "a\u2028b"),
    *("a\U000e0041\U000e0042", "a\ufe0f\ufe0f\ufe0f", "1\u00ad2", "co\u00adop", "a\u115fb"),
    *("a\u3164b", "a\u200c\u200cb", "\ue000", "a\u2064b", "x\u0085y", "\u180eq"),
]


def test_text_is_shown_as_the_terminal_shows_it(visitor: Visitor, console: RunningConsole) -> None:
    page = visitor.open(console.link)
    shown = page.evaluate("async (texts) => texts.map((await import('/dom.js')).visible)", HIDDEN)
    differing = {
        text: (found, visible(text))
        for text, found in zip(HIDDEN, shown, strict=True)
        if found != visible(text)
    }
    assert differing == {}


def test_a_moment_of_another_year_says_which(visitor: Visitor, console: RunningConsole) -> None:
    page = visitor.open(console.link)
    shown = page.evaluate(
        "async () => { const { moment } = await import('/dom.js');"
        "return [1e7, Date.now() / 1000].map((when) => moment(when).textContent); }"
    )
    assert "1970" in shown[0]
    assert not re.search(r"\d{4}", shown[1])


def test_markup_cannot_be_made_of_text(visitor: Visitor, console: RunningConsole) -> None:
    page = visitor.open(console.link)
    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; } catch (e) { return e.name; } }"
    )
    assert refused == "TypeError"
    visitor.complaints.clear()  # the browser notes what it refused


def test_a_long_word_wraps_in_a_heading_and_short_words_of_a_table_stay_whole(
    visitor: Visitor, console: RunningConsole
) -> None:
    page = visitor.open(console.link)
    page.set_viewport_size({"width": 800, "height": 700})
    lines = page.evaluate(
        """async () => {
            const { button, element, table } = await import('/dom.js');
            const long = 'word'.repeat(200);
            const columns = [
                { title: 'Text', cell: () => long, class: 'free' },
                { title: 'State', cell: () => 'offline' },
                { title: 'Name', cell: () => long },
                { title: '', cell: () => button('Revoke it') },
                { title: 'Id', cell: () => element('code', {}, '1a2b-3c4d') },
            ];
            document.querySelector('main').append(
                element('h2', { id: 'long' }, long), table({ caption: 'One', columns, rows: [1] }));
            const cells = document.querySelectorAll('tbody td');
            return [1, 3, 4].map((at) => {
                const cell = cells[at];
                const range = document.createRange();
                range.selectNodeContents(cell.querySelector('button, code') || cell);
                return range.getClientRects().length;
            });
        }"""
    )
    assert lines == [1, 1, 1]
    assert page.evaluate("document.documentElement.scrollWidth") <= 800


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_every_page_fits_the_screen_in_both_colours(
    browser: Browser, console: RunningConsole, scheme: str, width: int
) -> None:
    size = {"width": width, "height": 740}
    with visiting(browser, color_scheme=scheme, viewport=size) as visitor:
        page = visitor.open(console.link)
        names = page.locator("#pages a").evaluate_all("(all) => all.map((a) => a.hash.slice(2))")
        assert len(names) >= 4
        for name in names:
            visitor.go(name)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, (name, wide)


def test_every_page_has_its_landmarks_and_names(visitor: Visitor, console: RunningConsole) -> None:
    """What a screen reader goes by: one heading, landmarks, a name for every control."""
    page = visitor.open(console.link)
    for name in page.locator("#pages a").evaluate_all("(all) => all.map((a) => a.hash.slice(2))"):
        visitor.go(name)
        assert page.get_by_role("heading", level=1).count() == 1
        assert page.get_by_role("main").count() == 1
        assert page.get_by_role("navigation", name="Pages").count() == 1
        nameless = page.locator("main button, main input, main select, main textarea").evaluate_all(
            "(all) => all.filter((e) => !(e.textContent.trim() || e.ariaLabel || e.labels?.length))"
            ".map((e) => e.outerHTML)"
        )
        assert nameless == [], name


def test_all_pages_are_reached_with_the_keyboard(visitor: Visitor, console: RunningConsole) -> None:
    page = visitor.open(console.link)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for name in ("approvals", "activity", "policy"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == f"to-{name}"
    page.keyboard.press("Enter")
    visitor.ready("policy")
    assert page.evaluate("document.activeElement.id") == "content"


def test_a_port_that_is_taken_is_an_error_only_if_it_was_asked_for(console: RunningConsole) -> None:
    port = str(console.port)
    done = finished(*CLAW, "console", "--no-open", "--port", port, code=1)
    assert "choose another port" in done.stderr


def test_a_port_that_another_program_has_at_the_other_loopback_address_is_taken() -> None:
    """Browsers that are sent to localhost go there first."""
    with listen("::1", 0) as taken:
        port = str(taken.getsockname()[1])
        done = finished(*CLAW, "console", "--no-open", "--port", port, code=1)
    assert f"cannot listen on [::1]:{port}" in done.stderr
    assert "#open=" not in done.stdout


def test_a_port_is_drawn_by_chance_and_only_one_that_is_free_at_both_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drawn() -> int:
        with ExitStack() as until_end:
            ports = {one.getsockname()[1] for one in app.console_sockets(None, until_end)}
        assert len(ports) == 1
        return ports.pop()

    several = {drawn() for _ in range(8)}
    assert len(several) > 1
    assert several <= set(app.PORTS)
    with listen("::1", 0) as taken:
        monkeypatch.setattr(app, "PORTS", [taken.getsockname()[1]])
        assert drawn() not in app.PORTS


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_the_console_is_there_by_every_name_of_this_machine(
    visitor: Visitor, console: RunningConsole, name: str
) -> None:
    page = visitor.open(console.link.replace(console.origin, f"http://{name}:{console.port}"))
    expect(page.locator("#connection")).to_have_text("Live")
