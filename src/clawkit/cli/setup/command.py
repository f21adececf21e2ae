"""`claw setup`: finds what could answer, tries what is chosen, writes the config; then clients."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from msgspec.structs import replace

from clawkit.cli.commands import print_json, read_stdin, say, with_options
from clawkit.cli.setup.questions import (
    agreed,
    ask,
    ask_key,
    no_key,
    numbered,
    one_of,
    valid_key,
    valid_model,
    valid_name,
    valid_variable,
)
from clawkit.errors import ModelError, SettingsError
from clawkit.text.normalization import visible

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import FoundKey
    from clawkit.assistant.config import Config, Provider
    from clawkit.assistant.model_discovery import FoundModels
    from clawkit.cli.setup.clients import ClientWishes
    from clawkit.cli.setup.config_edit import Answers, ConfigPlan, Kept

_OFFLINE = "offline"
_CLAUDE_CLI = "claude-cli"
_TITLES = {
    "anthropic": "Anthropic (Claude)",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "ollama": "Ollama on this machine",
    "lmstudio": "LM Studio on this machine",
    "llamacpp": "llama.cpp on this machine",
    _CLAUDE_CLI: "The Claude CLI on this machine, with its own login",
    "": "Another address that speaks like OpenAI",
    _OFFLINE: "None: offline answers, which no language model gives",
}
_MOST_LISTED = 20
_SHOWN_MODELS = 3


class SetupOptions(msgspec.Struct, frozen=True):
    """What was said on the command line."""

    provider: Annotated[
        str,
        typer.Option(
            help="anthropic, openai, openrouter, ollama, lmstudio, llamacpp, claude-cli, offline, "
            "or a name of your own with --base-url."
        ),
    ] = ""
    model: Annotated[str, typer.Option(help="The model, as the provider calls it.")] = ""
    base_url: Annotated[
        str, typer.Option(metavar="URL", help="Where an OpenAI-compatible server is.")
    ] = ""
    key_env: Annotated[
        str, typer.Option(metavar="NAME", help="The variable that holds the key.")
    ] = ""
    key_stdin: Annotated[
        bool, typer.Option("--key-stdin", help="Read the key from standard input and keep it.")
    ] = False
    keep_key: Annotated[
        bool, typer.Option("--keep-key", help="Keep the key that is in the environment.")
    ] = False
    keyring: Annotated[
        bool, typer.Option("--keyring", help="Keep the key in the keyring, not in .env.")
    ] = False
    no_test: Annotated[
        bool, typer.Option("--no-test", help="Write it without asking the model first.")
    ] = False
    install: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLIENT", help="Add the assistant to this client, or `all`; again for more."
        ),
    ] = None
    share_memory: Annotated[
        bool, typer.Option("--share-memory", help="Let all clients share one memory.")
    ] = False
    guard: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERVER", help="Put the guard before this server, or `all`; again for more."
        ),
    ] = None
    check: Annotated[
        bool, typer.Option("--check", help="Show what is there, and change nothing.")
    ] = False
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="Do not ask. Without --provider: a local server that was found."
        ),
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False

    @property
    def wishes(self) -> ClientWishes:
        from clawkit.cli.setup.clients import ClientWishes

        return ClientWishes(tuple(self.install or ()), self.share_memory, tuple(self.guard or ()))


@with_options("options", SetupOptions)
def setup(options: SetupOptions) -> None:
    """Find what could answer, choose it, try it; then add it to MCP clients."""
    options = replace(
        options,
        provider=options.provider.strip().casefold(),
        model=options.model.strip(),
        base_url=options.base_url.strip(),
        key_env=options.key_env.strip(),
    )
    no_key(options.provider, "--provider")
    no_key(options.model, "--model")
    try:
        code = _show_found(as_json=options.as_json) if options.check else _run(options)
    except (KeyboardInterrupt, EOFError):
        say("\nNothing was changed.")
        code = 130
    except Refused:
        say("Nothing was changed.")
        code = 1
    raise typer.Exit(code)


class Refused(Exception):
    """A person saw what would be written, and said no."""


def _run(options: SetupOptions) -> int:
    from clawkit.assistant.config import read_config
    from clawkit.cli.setup import clients

    config = read_config()
    asking = _can_ask(options)
    if options.key_env:
        valid_variable(options.key_env)
    _must_be_known(options, config, asking=asking)
    clients.check(options.wishes)
    found = _look(config) if _must_look(options) else ()
    options = _completed(options, config, found, asking=asking)
    if not asking:
        _must_suffice(options, config)
    ready, detail = _chosen(options, config, found, asking=asking)
    changes = _show(ready)
    if changes and asking and not agreed("Write this?", default=True):
        raise Refused
    _write(ready)
    report = _report(ready, options, detail, changed=changes)
    return _finish(options, ready, report, asking=asking)


def _write(ready: ConfigPlan) -> None:
    from clawkit.cli.setup.config_edit import apply

    apply(ready)


def _finish(
    options: SetupOptions, ready: ConfigPlan, report: dict[str, Any], *, asking: bool
) -> int:
    """The clients, after the model: who leaves here has a model all the same."""
    from clawkit.cli.setup import clients

    wishes = options.wishes
    try:
        if asking:
            wishes = clients.ask_wishes(wishes, shared=ready.config.memory.share)
    except (KeyboardInterrupt, EOFError):
        say("\nThe clients stay as they are.")
        return 130
    code, done = clients.carry_out(wishes, ready.config.places, as_json=options.as_json)
    if options.as_json:
        print_json({**report, **done})
    elif not (wishes.install or wishes.share or wishes.guard):
        print('`claw ask "…"` and `claw chat` use it; `claw install` adds it to MCP clients.')
    return code


def _look(config: Config) -> tuple[FoundModels, ...]:
    import asyncio

    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.model_discovery import find_models

    return asyncio.run(find_models(config, Keys(config)))


def _must_look(options: SetupOptions) -> bool:
    """Whether it matters what is there."""
    from clawkit.assistant.model_discovery import LOCAL_SERVERS

    is_local = options.provider in LOCAL_SERVERS
    return not options.provider or (is_local and not (options.model and options.base_url))


def _show_found(*, as_json: bool) -> int:
    """`--check`: all that is there, and the command that uses each."""
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.config import read_config
    from clawkit.assistant.model_choice import choose
    from clawkit.cli.setup import clients

    config = read_config()
    chosen = choose(config, Keys(config))[0]
    found, there, servers = _look(config), clients.clients_here(), clients.unguarded()
    if as_json:
        print_json(
            {
                "use": chosen.name,
                "why": chosen.why,
                "found": [
                    {**msgspec.to_builtins(one), "free": one.is_free, "command": one.command}
                    for one in found
                ],
                "clients": there,
                "unguarded": [{"server": one.name, "client": one.client} for one in servers],
                "shared": config.memory.share,
            }
        )
        return 0
    print(f"{chosen.name} answers ({chosen.why}).")
    for one in found:
        print(f"\n{visible(_titled(one))}\n  {one.command}")
    if not found:
        print("\nNo model server, no logged-in Claude CLI and no key was found.")
    for title, names in (
        ("Clients without the assistant", [c.title for c in there if c.state == "not installed"]),
        ("Servers without the guard", [visible(one.name) for one in servers]),
    ):
        if names:
            print(f"\n{title}: {', '.join(dict.fromkeys(names))}")
    print("\nNothing was changed.")
    return 0


def _can_ask(options: SetupOptions) -> bool:
    return os.isatty(0) and os.isatty(2) and not options.key_stdin and not options.yes


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


def _completed(
    options: SetupOptions, config: Config, found: Sequence[FoundModels], *, asking: bool
) -> SetupOptions:
    """Completes the options from what was found, where nobody is asked.

    `--yes` agrees to what is free. What costs money has to be named.
    """
    if not options.provider and options.yes and (use := config.model.use):
        name, _, model = use.partition("/")
        return replace(options, provider=name, model=options.model or model)
    if not options.provider and options.yes:
        free = next((one for one in found if one.is_free), None)
        options = replace(options, provider=free.provider) if free else options
    server = next((one for one in found if one.provider == options.provider), None)
    if server is None or server.kind != "server":
        return options
    model = options.model or ("" if asking else server.model)
    return replace(options, model=model, base_url=options.base_url or server.base_url)


def _must_suffice(options: SetupOptions, config: Config) -> None:
    """Raises an error that names everything that is missing, as nobody can be asked."""
    from clawkit.assistant.model_discovery import LOCAL_SERVERS

    missing: list[str] = []
    nobody = "--yes asks nothing" if options.yes else "this is not a terminal to ask questions in"
    provider = _provider(options.provider, config)
    if not options.provider:
        missing.append("--provider (`claw setup --check` shows what was found)")
        if options.yes:
            names = ", ".join(LOCAL_SERVERS.values())
            nobody = f"no model server was found on this machine (looked for {names})"
    elif options.provider != _OFFLINE:
        if not options.model and not _default_model(options.provider):
            away = f" (nothing answers at {provider.base_url})" if provider else ""
            missing.append(f"--model{away}")
        variable = _variable(options, provider)
        if variable and not options.key_stdin and _found(variable, config) is None:
            # What was given is not repeated: it may be the key itself.
            shown_name = "the variable of --key-env" if options.key_env else variable
            missing.append(f"{shown_name} in the environment, or --key-stdin")
    if not options.yes:
        missing.append("--yes")
    if missing:
        raise SettingsError(f"{nobody}: give {'; '.join(missing)}").of_usage()


def _chosen(
    options: SetupOptions, config: Config, found: Sequence[FoundModels], *, asking: bool
) -> tuple[ConfigPlan, str]:
    """Asks and tries until one answers, or is to be written all the same."""
    from clawkit.cli.setup.config_edit import plan

    while True:
        answers = _answers(options, config, found, asking=asking)
        ready = plan(answers, config.places)
        if options.no_test or answers.provider == _OFFLINE:
            return ready, ""
        detail = _test(ready, asking=asking)
        if detail is not None:
            return ready, detail
        options = replace(options, provider="", model="", base_url="", key_env="")
        found = found or _look(config)


def _answers(
    options: SetupOptions, config: Config, found: Sequence[FoundModels], *, asking: bool
) -> Answers:
    from clawkit.cli.setup.config_edit import Answers
    from clawkit.system.addresses import check_base_url

    present, _, present_model = config.model.use.partition("/")
    name = options.provider or _ask_provider(present, found)
    if name == _OFFLINE:
        return Answers(_OFFLINE)
    own = present if present not in _TITLES else "custom"
    name = name or ask("A name for it", own, valid_name)
    valid_name(name)
    provider = _provider(name, config)
    server = next((one for one in found if one.provider == name), None)
    url = options.base_url or (server.base_url if server else "")
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
    model = options.model or (default if not asking else "") or _ask_model(server, default)
    if name != "openrouter":  # there, the names of models have other providers' names before them
        model = model.removeprefix(f"{name}/")
    key, keep = _key(options, variable, config, asking=asking)
    return Answers(name, model, url, variable, key, keep)


def _ask_provider(present: str, found: Sequence[FoundModels]) -> str:
    """Which one, those that were found first; what answers now is the one that Enter takes."""
    menu = {one.provider: _titled(one) for one in found}
    menu |= {name: title for name, title in _TITLES.items() if name not in menu}
    say("Who shall answer?" if not found else "Who shall answer? Found here, and others:")
    for number, title in enumerate(menu.values(), 1):
        say(f"  {number}  {visible(title)}")
    numbers = {str(number): name for number, name in enumerate(menu, 1)}
    names = {name: name for name in menu if name}

    def known(answer: str) -> str:
        chosen = {**names, **numbers}.get(answer.casefold())
        if chosen is None:
            raise SettingsError(f"give a number from 1 to {len(menu)}")
        return answer

    places = {name: number for number, name in numbers.items()}
    usual = places.get(present, places[""]) if present else "1"
    return {**names, **numbers}[ask("Number", usual, known).casefold()]


def _titled(one: FoundModels) -> str:
    from clawkit.assistant.model_discovery import CHARGED, LOCAL_SERVERS

    if one.kind == "server":
        rest = len(one.models) - _SHOWN_MODELS
        models = ", ".join(one.models[:_SHOWN_MODELS]) + (f" and {rest} more" if rest > 0 else "")
        return f"{LOCAL_SERVERS[one.provider]}, running at {one.where}: {models}"
    if one.kind == "cli":
        return f"The Claude CLI, which is logged in ({CHARGED})"
    return f"{_TITLES[one.provider]}: {one.where} is set ({CHARGED})"


def _ask_model(server: FoundModels | None, default: str) -> str:
    models = server.models if server else ()
    if not models:
        return ask("Model", default, valid_model)
    say("Which model?")
    if len(models) > _MOST_LISTED:
        say(f"  (the first {_MOST_LISTED} of {len(models)}; a name does as well)")
    usual = str(models.index(default) + 1) if default in models[:_MOST_LISTED] else "1"
    return numbered("Model", models[:_MOST_LISTED], usual)


def _key(options: SetupOptions, variable: str, config: Config, *, asking: bool) -> tuple[str, Kept]:
    """A key to be kept, and where; none if it need not be, or there already is one."""
    keep: Kept = "keyring" if options.keyring else ".env"
    if options.key_stdin:
        if not variable:
            raise SettingsError(
                "--key-stdin needs --key-env NAME: this provider has no key by itself"
            ).of_usage()
        return valid_key(read_stdin()), keep
    found = _found(variable, config) if variable else None
    if found is not None and (options.keep_key or not asking):
        is_copied = options.keep_key and found.where == "environment"
        return (found.value, keep) if is_copied else ("", "")
    if not variable or not asking:
        return "", ""
    if found is not None and (
        options.yes or agreed(f"{variable} is set ({found.where}). Use it?", default=True)
    ):
        return ("", "") if options.yes else _copied(found, keep)
    return ask_key(f"Key for {variable} (it is not shown): "), keep


def _copied(found: FoundKey, keep: Kept) -> tuple[str, Kept]:
    if found.where != "environment":
        return "", ""
    question = f"MCP clients do not see your shell's variables. Keep a copy in {keep}?"
    return (found.value, keep) if agreed(question, default=False) else ("", "")


def _test(ready: ConfigPlan, *, asking: bool) -> str | None:
    """A real request, again as often as a person likes; None to choose another model."""
    import asyncio

    from clawkit.assistant.api_keys import Keys
    from clawkit.cli.status.assistant import ping_model

    keys = Keys(ready.config, ready.environment())
    while True:
        say(f"Asking {ready.answers.use} …")
        try:
            detail = asyncio.run(ping_model(ready.config, keys, ready.answers.use))
        except ModelError as error:
            if not asking:
                raise SettingsError(
                    f"{error}\nNothing was changed; --no-test writes it all the same"
                ) from None
            say(f"It does not answer: {visible(str(error))}")
        else:
            say(f"It answers: {visible(detail)}")
            return detail
        question = "Retry, choose another, write it all the same, or quit? (r/c/w/q)"
        wanted = one_of(question, ("retry", "choose", "write", "quit"), "retry")
        if wanted == "quit":
            raise Refused
        if wanted != "retry":
            return None if wanted == "choose" else ""


def _show(ready: ConfigPlan) -> bool:
    """What will be written where; False if that is nothing."""
    from clawkit.text.secrets import redact_secrets

    answers = ready.answers
    lines = ready.lines
    if lines:
        say(f"\n{ready.file}:")
        for line in lines:
            say(f"  {visible(redact_secrets(line)[0])}")
    if answers.keep:
        place = ready.config.places.config / ".env" if answers.keep == ".env" else "the keyring"
        say(f"\n{place}:\n  + {answers.key_env}=… (not shown)")
    return bool(lines or answers.keep)


def _report(
    ready: ConfigPlan, options: SetupOptions, detail: str, *, changed: bool
) -> dict[str, Any]:
    """Says what was written, unless it is for JSON."""
    answers = ready.answers
    found = _found(answers.key_env, ready.config) if answers.key_env else None
    if not options.as_json:
        print(f"{'Written' if changed else 'Nothing to change'}: {answers.use} answers.")
        if answers.provider == _OFFLINE:
            print("It is no language model: it repeats what it was told and needs no key.")
        if answers.keep and found is not None and found.where == "environment":
            print(f"{answers.key_env} in the environment goes before the one in {answers.keep}.")
        if ready.config.places.model:
            print(f"CLAW_MODEL is set, which counts more: {ready.config.places.model}.")
    return {
        "use": answers.use,
        "file": str(ready.file),
        "changed": changed,
        "key": {"variable": answers.key_env, "where": found.where if found else ""},
        "tested": detail or None,
    }


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
