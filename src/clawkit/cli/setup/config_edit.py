"""What `claw setup` writes: a few lines of `config.toml`, and a key where keys are kept."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import Config, config_file, parse_config
from clawkit.errors import HostError, SettingsError
from clawkit.hosts.documents.edits import add_entry, edit_entry
from clawkit.hosts.documents.nodes import data_at
from clawkit.hosts.documents.toml import Toml
from clawkit.settings import Settings
from clawkit.system.files import (
    FileChangedError,
    FileSnapshot,
    make_private,
    make_source,
    read_source,
    replace_source,
)

OFFLINE = "offline"

Kept = Literal["", ".env", "keyring"]
Change = tuple[tuple[str, ...], dict[str, Any]]
"""The names of a section, and what shall stand there."""


class Answers(msgspec.Struct, frozen=True):
    """What a person wants: a provider and its model; where it is, and its key, if need be."""

    provider: str
    model: str = ""
    base_url: str = ""
    key_env: str = ""
    key: str = ""
    keep: Kept = ""

    def __repr__(self) -> str:
        return f"Answers({self.use})"

    @property
    def use(self) -> str:
        return OFFLINE if self.provider == OFFLINE else f"{self.provider}/{self.model}"


class ConfigPlan(msgspec.Struct, frozen=True):
    """The config file before and after, and what it means then."""

    answers: Answers
    file: Path
    source: FileSnapshot | None
    text: str
    config: Config

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that come, go or change, as in a diff; nothing else of the file."""
        import difflib

        before = self.source.text if self.source else ""
        found = difflib.unified_diff(before.splitlines(), self.text.splitlines(), n=0, lineterm="")
        return tuple(line for line in list(found)[2:] if not line.startswith("@@"))

    def environment(self) -> dict[str, str]:
        """The variables as they will be, so that a key can be tried before it is kept."""
        given = {self.answers.key_env: self.answers.key} if self.answers.key else {}
        return {**os.environ, **given}


def plan(answers: Answers, places: Settings) -> ConfigPlan:
    """What would be written; raises where the config cannot be used as it is."""
    return _planned(answers, _changes(answers), places)


def share_memory(places: Settings) -> bool:
    """Lets orders over MCP take part in the one memory; False if they did already."""
    ready = _planned(Answers(""), [(("memory",), {"share": True})], places)
    if not ready.lines:
        return False
    _write(ready)
    return True


def _planned(answers: Answers, changes: Iterable[Change], places: Settings) -> ConfigPlan:
    file = config_file(places)
    try:
        source = read_source(file) if file.exists() else None
        text = source.text if source else ""
        parse_config(text.removeprefix("\ufeff"), file, places)
        for keys, values in changes:
            text = _changed(text, str(file), keys, values)
    except HostError as error:
        raise SettingsError(str(error)) from None
    config = parse_config(text.removeprefix("\ufeff"), file, places)
    return ConfigPlan(answers, file, source, text, config)


def apply(ready: ConfigPlan) -> None:
    """The key first: a config that names a key which is nowhere helps nobody."""
    answers = ready.answers
    with _undisturbed():
        if answers.keep:
            Keys(ready.config).store(answers.key_env, answers.key, answers.keep)
        if ready.source is None or ready.source.text != ready.text:
            _write(ready)


def _changes(answers: Answers) -> Iterator[Change]:
    yield ("model",), {"use": answers.use}
    provider = {"base_url": answers.base_url, "key_env": answers.key_env}
    given = {key: value for key, value in provider.items() if value}
    if given and answers.provider != OFFLINE and not _is_usual(answers):
        yield ("providers", answers.provider), given
    if answers.keep == "keyring":
        yield ("secrets",), {"keyring": True}


def _is_usual(answers: Answers) -> bool:
    """Whether the provider is known to be found just there."""
    from clawkit.assistant.model_choice import known_providers

    known = known_providers().get(answers.provider)
    return (
        known is not None
        and answers.base_url in ("", known.base_url)
        and answers.key_env in ("", known.key_env)
    )


def _changed(text: str, file: str, keys: tuple[str, ...], changes: dict[str, Any]) -> str:
    toml = Toml()
    old = data_at(toml.open(text, file).data, keys)
    if old is None:
        return add_entry(toml, text, file, keys, changes).text
    new = {**old, **changes}
    return text if new == old else edit_entry(toml, text, file, keys, new).text


def _write(ready: ConfigPlan) -> None:
    try:
        if ready.source is None:
            make_private(ready.file.parent)
            make_source(ready.file, ready.text, 0o600)
        else:
            replace_source(ready.source, ready.text)
    except FileChangedError:
        raise SettingsError(
            f"{ready.file} was changed by somebody else meanwhile: run `claw setup` again"
        ) from None
    except HostError as error:
        raise SettingsError(str(error)) from None
    except OSError as error:
        raise SettingsError(f"{ready.file} cannot be written: {error.strerror}") from None


@contextmanager
def _undisturbed() -> Generator[None]:
    """Ctrl-C does not come between the key and the config."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
