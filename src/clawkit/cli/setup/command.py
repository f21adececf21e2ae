"""`claw setup`: asks which model shall answer, tries it, and writes the config."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from clawkit.cli.output import ExitOnError, print_json, shown
from clawkit.errors import ModelError, SettingsError

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import FoundKey
    from clawkit.assistant.config import Config, Provider
    from clawkit.cli.setup.config_edit import Answers, ConfigPlan, Kept

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def ask(question: str, default: str, check: Callable[[str], object]) -> str:
    """Asks until the answer is one; an empty one is the default."""
    while True:
        answer = _line(f"{question}{f' [{default}]' if default else ''}: ").strip() or default
        try:
            check(answer)
        except SettingsError as error:
            say(shown(str(error)))
            continue
        return answer


def _line(question: str) -> str:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.output import create_output

    session: PromptSession[str] = PromptSession(output=create_output(sys.stderr))
    return session.prompt(question)


def agreed(question: str, *, default: bool) -> bool:
    choices = {"y": True, "yes": True, "n": False, "no": False, "": default}

    def known(answer: str) -> None:
        if answer.casefold() not in choices:
            raise SettingsError("answer y or n")

    return choices[ask(f"{question} {'[Y/n]' if default else '[y/N]'}", "", known).casefold()]


def ask_key(question: str) -> str:
    """Asks for a key, which is not shown, until it can be one."""
    import getpass

    while True:
        try:
            return valid_key(getpass.getpass(question, stream=sys.stderr))
        except SettingsError as error:
            say(shown(str(error)))


def something(answer: str) -> None:
    if not answer:
        raise SettingsError("there is no default: write one")


def valid_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SettingsError(f"`{name}` cannot be a provider's name: use small letters, digits, - _")


def valid_variable(name: str) -> None:
    if not _VARIABLE.fullmatch(name):
        # What was given is not repeated: it may be the key itself.
        raise SettingsError("--key-env wants the name of a variable, such as MY_KEY")


def valid_key(text: str) -> str:
    key = text.strip()
    if not key or not key.isprintable() or " " in key:
        raise SettingsError("the key is empty or not one word")
    return key


def say(text: str) -> None:
    """Remarks, and with them the questions, are on stderr; stdout has the result only."""
    print(text, file=sys.stderr, flush=True)


_OFFLINE = "offline"
_CLAUDE_CLI = "claude-cli"
_MENU = (
    ("anthropic", "Anthropic (Claude)"),
    ("openai", "OpenAI"),
    ("openrouter", "OpenRouter"),
    ("ollama", "Ollama on this machine"),
    ("lmstudio", "LM Studio on this machine"),
    (_CLAUDE_CLI, "The Claude CLI on this machine, with its own login"),
    ("", "Another address that speaks like OpenAI"),
    (_OFFLINE, "None: offline answers, which no language model gives"),
)


class SetupOptions(msgspec.Struct, frozen=True):
    """What was said on the command line."""

    provider: str
    model: str
    base_url: str
    key_env: str
    key_stdin: bool
    keyring: bool
    test: bool
    yes: bool
    as_json: bool


def setup(
    provider: Annotated[
        str,
        typer.Option(
            help="anthropic, openai, openrouter, ollama, lmstudio, claude-cli, offline, "
            "or a name of your own with --base-url."
        ),
    ] = "",
    model: Annotated[str, typer.Option(help="The model, as the provider calls it.")] = "",
    base_url: Annotated[
        str, typer.Option(metavar="URL", help="Where an OpenAI-compatible server is.")
    ] = "",
    key_env: Annotated[
        str, typer.Option(metavar="NAME", help="The variable that holds the key.")
    ] = "",
    key_stdin: Annotated[
        bool, typer.Option("--key-stdin", help="Read the key from standard input and keep it.")
    ] = False,
    keyring: Annotated[
        bool, typer.Option("--keyring", help="Keep the key in the keyring, not in .env.")
    ] = False,
    no_test: Annotated[
        bool, typer.Option("--no-test", help="Write it without asking the model first.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Choose the model that answers, and keep its key."""
    options = SetupOptions(
        provider=provider.strip().casefold(),
        model=model.strip(),
        base_url=base_url.strip(),
        key_env=key_env.strip(),
        key_stdin=key_stdin,
        keyring=keyring,
        test=not no_test,
        yes=yes,
        as_json=as_json,
    )
    with ExitOnError("setup"):
        try:
            code = _run(options)
        except (KeyboardInterrupt, EOFError):
            say("\nNothing was changed.")
            code = 130
        except Refused:
            say("Nothing was changed.")
            code = 1
    raise typer.Exit(code)


def _run(options: SetupOptions) -> int:
    from clawkit.assistant.config import read_config
    from clawkit.cli.setup.config_edit import apply, plan

    config = read_config()
    asking = _can_ask(options)
    if options.key_env:
        valid_variable(options.key_env)
    _must_be_known(options, config, asking=asking)
    if not asking:
        _must_suffice(options, config)
    answers = _answers(options, config, asking=asking)
    ready = plan(answers, config.places)
    detail = ""
    if options.test and answers.provider != _OFFLINE:
        detail = _test(ready, asking=asking)
    changes = _show(ready)
    if changes and not options.yes and not agreed("Write this?", default=True):
        raise Refused
    apply(ready)
    _report(ready, options, detail, changed=changes)
    return 0


class Refused(Exception):
    """A person saw what would be written, and said no."""


def _can_ask(options: SetupOptions) -> bool:
    return os.isatty(0) and os.isatty(2) and not options.key_stdin


def _must_be_known(options: SetupOptions, config: Config, *, asking: bool) -> None:
    """A name that is new needs an address: it may be one of ours with a letter too few."""
    from difflib import get_close_matches

    from clawkit.assistant.model_choice import known_providers

    name = options.provider
    if not name or name == _OFFLINE or options.base_url or _provider(name, config) is not None:
        return
    valid_name(name)
    known = sorted({_OFFLINE, _CLAUDE_CLI, *known_providers(config)})
    near = get_close_matches(name, known, n=1)
    if near or not asking:
        meant = f"did you mean {near[0]}? There are" if near else "there are"
        raise SettingsError(
            f"there is no provider `{name}`: {meant} {', '.join(known)}; "
            "one of your own needs --base-url URL"
        )


def _must_suffice(options: SetupOptions, config: Config) -> None:
    """Nobody can be asked: everything that is missing is named at once."""
    missing: list[str] = []
    provider = _provider(options.provider, config)
    if not options.provider:
        missing.append("--provider")
    elif options.provider != _OFFLINE:
        if not options.model and not _default_model(options.provider):
            missing.append("--model")
        variable = _variable(options, provider)
        if variable and not options.key_stdin and _found(variable, config) is None:
            # What was given is not repeated: it may be the key itself.
            shown_name = "the variable of --key-env" if options.key_env else variable
            missing.append(f"{shown_name} in the environment, or --key-stdin")
    if not options.yes:
        missing.append("--yes")
    if missing:
        raise SettingsError(
            f"this is not a terminal to ask questions in: give {'; '.join(missing)}"
        )


def _answers(options: SetupOptions, config: Config, *, asking: bool) -> Answers:
    from clawkit.cli.setup.config_edit import Answers
    from clawkit.system.addresses import check_base_url

    present, _, present_model = config.model.use.partition("/")
    name = options.provider or _ask_provider(present)
    if name == _OFFLINE:
        return Answers(_OFFLINE)
    own = present if present not in dict(_MENU) else "custom"
    name = name or ask("A name for it", own, valid_name)
    valid_name(name)
    provider = _provider(name, config)
    url = options.base_url
    if provider is None and not url:
        checked = partial(check_base_url, name, secret=False)
        url = ask("Its address, such as http://127.0.0.1:8000/v1", "", checked)
    variable = _variable(options, provider)
    if provider is None and asking and not options.key_env:
        question = "The variable that holds its key (empty: it needs none)"
        variable = ask(question, "", lambda name: not name or valid_variable(name))
    if variable:
        valid_variable(variable)
    if url:
        url = check_base_url(name, url, secret=bool(variable))
    default = (present_model if asking and name == present else "") or _default_model(name)
    model = options.model or (default if not asking else "") or ask("Model", default, something)
    if name != "openrouter":  # there, the names of models have other providers' names before them
        model = model.removeprefix(f"{name}/")
    key, keep = _key(options, variable, config, asking=asking)
    return Answers(name, model, url, variable, key, keep)


def _key(options: SetupOptions, variable: str, config: Config, *, asking: bool) -> tuple[str, Kept]:
    """A key to be kept, and where; none if it need not be, or there already is one."""
    keep: Kept = "keyring" if options.keyring else ".env"
    if options.key_stdin:
        if not variable:
            raise SettingsError(
                "--key-stdin needs --key-env NAME: this provider has no key by itself"
            )
        return valid_key(sys.stdin.read()), keep
    if not variable or not asking:
        return "", ""
    found = _found(variable, config)
    if found is not None and agreed(f"{variable} is set ({found.where}). Use it?", default=True):
        return _copied(found, keep)
    return ask_key(f"Key for {variable} (it is not shown): "), keep


def _copied(found: FoundKey, keep: Kept) -> tuple[str, Kept]:
    if found.where != "environment":
        return "", ""
    question = f"MCP clients do not see your shell's variables. Keep a copy in {keep}?"
    return (found.value, keep) if agreed(question, default=False) else ("", "")


def _test(ready: ConfigPlan, *, asking: bool) -> str:
    """A real request; a failure stops here, unless a person says otherwise."""
    import asyncio

    say(f"Asking {ready.answers.use} …")
    try:
        detail = asyncio.run(_ping(ready))
    except ModelError as error:
        if not asking:
            raise SettingsError(
                f"{error}\nNothing was changed; --no-test writes it all the same"
            ) from None
        say(f"It does not answer: {shown(str(error))}")
        if not agreed("Write it all the same?", default=False):
            raise Refused from None
        return ""
    say(f"It answers: {shown(detail)}")
    return detail


async def _ping(ready: ConfigPlan) -> str:
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.model_choice import choose, open_model
    from clawkit.models.retries import ping

    keys = Keys(ready.config, ready.environment())
    model = open_model(choose(ready.config, keys)[0], ready.config, keys)
    try:
        return await ping(model)
    finally:
        await model.close()


def _show(ready: ConfigPlan) -> bool:
    """What will be written where; False if that is nothing."""
    from clawkit.guard.scan import redact_secrets

    answers = ready.answers
    lines = ready.lines
    if lines:
        say(f"\n{ready.file}:")
        for line in lines:
            say(f"  {shown(redact_secrets(line)[0])}")
    if answers.keep:
        place = ready.config.places.config / ".env" if answers.keep == ".env" else "the keyring"
        say(f"\n{place}:\n  + {answers.key_env}=… (not shown)")
    return bool(lines or answers.keep)


def _report(ready: ConfigPlan, options: SetupOptions, detail: str, *, changed: bool) -> None:
    answers = ready.answers
    found = _found(answers.key_env, ready.config) if answers.key_env else None
    if options.as_json:
        print_json(
            {
                "use": answers.use,
                "file": str(ready.file),
                "changed": changed,
                "key": {"variable": answers.key_env, "where": found.where if found else ""},
                "tested": detail or None,
            }
        )
        return
    print(f"{'Written' if changed else 'Nothing to change'}: {answers.use} answers.")
    if answers.provider == _OFFLINE:
        print("It is no language model: it repeats what it was told and needs no key.")
    if answers.keep and found is not None and found.where == "environment":
        print(f"{answers.key_env} in the environment goes before the one in {answers.keep}.")
    print('`claw ask "…"` and `claw chat` use it; `claw install` adds it to MCP clients.')


def _provider(name: str, config: Config) -> Provider | None:
    """A provider that can be used without an address; other packages may add some."""
    from importlib.metadata import entry_points

    from clawkit.assistant.config import Provider
    from clawkit.assistant.model_choice import GROUP, known_providers

    known = known_providers(config).get(name)
    if known is None and name and (name == _CLAUDE_CLI or entry_points(group=GROUP, name=name)):
        return Provider()
    return known


def _variable(options: SetupOptions, provider: Provider | None) -> str:
    """The variable of the key; a server on this machine in a known one's place needs none."""
    from clawkit.system.addresses import is_loopback

    if options.key_env or provider is None:
        return options.key_env
    local = bool(options.base_url) and is_loopback(options.base_url)
    return "" if local else provider.key_env


def _default_model(provider: str) -> str:
    from clawkit.assistant.model_choice import DEFAULT_MODELS

    return DEFAULT_MODELS.get(provider, "")


def _found(variable: str, config: Config) -> FoundKey | None:
    from clawkit.assistant.api_keys import Keys

    return Keys(config).find(variable)


def _ask_provider(present: str) -> str:
    """Which one; what answers now is the one that Enter takes."""
    say("Who shall answer?")
    for number, (_, title) in enumerate(_MENU, 1):
        say(f"  {number}  {title}")
    names = {name: name for name, _ in _MENU if name}
    numbers = {str(number): name for number, (name, _) in enumerate(_MENU, 1)}

    def known(answer: str) -> str:
        found = {**names, **numbers}.get(answer.casefold())
        if found is None:
            raise SettingsError(f"give a number from 1 to {len(_MENU)}")
        return answer

    places = {name: number for number, name in numbers.items()}
    usual = places.get(present, places[""]) if present else "1"
    return {**names, **numbers}[ask("Number", usual, known).casefold()]
