"""Keys: where they are found, where they are kept, and that they stay hidden."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import keyring.errors
import pytest

from clawkit.assistant.api_keys import FoundKey, Keys, read_env
from clawkit.assistant.config import Config, Secrets
from clawkit.errors import SettingsError
from clawkit.settings import Settings
from tests.keyrings import InMemory, keyring_in_memory

KEY = "made-up-key-0123456789"


@pytest.fixture
def places(tmp_path: Path) -> Settings:
    (tmp_path / "config").mkdir()
    return Settings(tmp_path / "config", tmp_path / "data", tmp_path / "policy")


@pytest.fixture
def env_file(places: Settings) -> Path:
    return places.config / ".env"


@pytest.fixture
def backend() -> Iterator[InMemory]:
    with keyring_in_memory() as found:
        yield found


@pytest.fixture
def no_backend() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


def keys(places: Settings, *, with_keyring: bool = False, **environment: str) -> Keys:
    return Keys(Config(places=places, secrets=Secrets(keyring=with_keyring)), environment)


@pytest.mark.process
def test_the_environment_comes_before_the_file_and_the_file_before_the_keyring(
    places: Settings, env_file: Path, backend: InMemory
) -> None:
    env_file.write_text("A=from-file\nB=from-file\n")
    backend.kept = {("clawkit", name): "from-keyring" for name in "ABC"}
    mine = keys(places, with_keyring=True, A="from-environment")
    assert mine.find("A") == FoundKey("from-environment", "environment")
    assert mine.find("B") == FoundKey("from-file", ".env")
    assert mine.find("C") == FoundKey("from-keyring", "keyring")
    assert mine.find("D") is None


def test_the_keyring_is_not_asked_unless_the_config_wants_it(
    places: Settings, backend: InMemory
) -> None:
    backend.kept["clawkit", "A"] = KEY
    assert keys(places).find("A") is None
    assert backend.asked == 0


def test_the_keyring_is_asked_once_for_a_key_it_has(places: Settings, backend: InMemory) -> None:
    backend.kept["clawkit", "A"] = KEY
    mine = keys(places, with_keyring=True)
    assert mine.find("A") == mine.find("A")
    assert backend.asked == 1


def test_an_empty_variable_is_as_good_as_none(places: Settings, env_file: Path) -> None:
    env_file.write_text("A=from-file\nB=\n")
    mine = keys(places, A="", B=" \n")
    assert mine.find("A") == FoundKey("from-file", ".env")
    assert mine.find("B") is None


def test_white_space_around_a_key_is_not_part_of_it(places: Settings) -> None:
    assert keys(places, A=f" {KEY}\n").find("A") == FoundKey(KEY, "environment")


def test_nothing_that_shows_a_key_object_shows_the_key(places: Settings, env_file: Path) -> None:
    env_file.write_text(f"A={KEY}\n")
    found = keys(places).find("A")
    assert found is not None
    shown = (repr(found), str(found), f"{[found]}", str(found.__rich_repr__()))
    assert not any(KEY in text for text in (*shown, repr(read_env(env_file))))
    assert "where='.env'" in repr(found)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=plain", "plain"),
        ("  A = plain  ", "plain"),
        ("export A=plain", "plain"),
        ("export\tA='single $B'", "single $B"),
        ('A="double"', "double"),
        (r'A="a \"quote\" and \\ and \n"', 'a "quote" and \\ and \n'),
        (r"A='no \n escapes'", r"no \n escapes"),
        ("A=value # comment", "value"),
        ("A=value#no-comment", "value#no-comment"),
        ('A="value # kept" # comment', "value # kept"),
        ("A=$HOME/${B}", "$HOME/${B}"),
        ("A=a=b==", "a=b=="),
        ("A=", ""),
        ("A= # nothing", ""),
        ("A=''", ""),
        ("A=value\r", "value"),
        ("# A=comment\n\nA=last", "last"),
        ("A=first\nA=last", "last"),
        ("\ufeffA=after-a-mark", "after-a-mark"),
    ],
)
def test_a_line_of_the_file_is_read_as_a_shell_would_but_without_filling_in(
    env_file: Path, line: str, value: str
) -> None:
    env_file.write_bytes(line.encode())
    assert read_env(env_file)[-1].value == value


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (f"A='{KEY}", "the quote at its start is not closed on this line"),
        (f'A="{KEY}\\"', "the quote at its start is not closed on this line"),
        (f"A='a' {KEY}", "something stands after the closing quote"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error_for_its_own_key_only(
    places: Settings, env_file: Path, line: str, problem: str
) -> None:
    env_file.write_text(f"# mine\n{line}\nB=fine\n")
    mine = keys(places)
    assert mine.find("B") == FoundKey("fine", ".env")
    with pytest.raises(SettingsError) as raised:
        mine.find("A")
    assert str(raised.value) == f"{env_file}:2: A: {problem}"


def test_a_line_without_a_name_is_a_problem_that_does_not_quote_it(env_file: Path) -> None:
    env_file.write_text(f"{KEY}\n")
    (found,) = read_env(env_file)
    assert (found.line, found.problem) == (1, "is not of the form NAME=value")
    assert KEY not in repr(found)


def test_a_file_that_is_not_text_or_not_a_file_is_a_clear_error(
    places: Settings, env_file: Path
) -> None:
    env_file.write_bytes(b"A=\xff\xfe")
    with pytest.raises(SettingsError, match="is not UTF-8: save it as such"):
        keys(places).find("A")
    env_file.unlink()
    env_file.mkdir()
    with pytest.raises(SettingsError, match="cannot be read: Is a directory"):
        keys(places).find("A")


def test_a_key_written_while_we_run_is_found(places: Settings, env_file: Path) -> None:
    mine = keys(places)
    assert mine.find("A") is None
    env_file.write_text(f"A={KEY}")
    assert mine.find("A") == FoundKey(KEY, ".env")


def test_names_in_the_config_are_filled_in(places: Settings, env_file: Path) -> None:
    env_file.write_text("TOKEN=secret-one\n")
    mine = keys(places, USER_NAME="ada")
    assert mine.expand("Bearer ${TOKEN}") == "Bearer secret-one"
    assert mine.expand("${USER_NAME}:${TOKEN}") == "ada:secret-one"
    assert mine.expand("$TOKEN and {TOKEN} and $$") == "$TOKEN and {TOKEN} and $$"


def test_what_is_filled_in_is_not_filled_in_again(places: Settings) -> None:
    assert keys(places, A="${B}", B="b").expand("${A}") == "${B}"


def test_a_name_that_is_not_set_is_an_error_that_says_where_to_set_it(
    places: Settings, env_file: Path
) -> None:
    with pytest.raises(SettingsError) as raised:
        keys(places).expand("Bearer ${TOKEN}")
    assert str(raised.value) == (
        "the config wants ${TOKEN}, which is not set: "
        f"set it in the environment or write TOKEN=… into {env_file}"
    )


@pytest.mark.parametrize("text", ["${}", "${A-B}", "${A", "${A:-b}"])
def test_what_is_not_a_name_is_an_error(places: Settings, text: str) -> None:
    with pytest.raises(SettingsError, match=r"is not of the form \$\{NAME\}"):
        keys(places, A="a").expand(text)


def test_every_key_that_was_given_out_is_known(places: Settings, env_file: Path) -> None:
    env_file.write_text("B=second\nC=never-asked\n")
    mine = keys(places, A="first", HOME="/home/ada")
    assert mine.values() == frozenset()
    mine.find("A")
    assert mine.expand("${HOME}/${B}") == "/home/ada/second"
    assert mine.values() == {"first", "second"}


def test_a_key_kept_in_the_file_is_for_its_owner_only(places: Settings, env_file: Path) -> None:
    mine = keys(places)
    mine.store("A", KEY, ".env")
    assert env_file.read_text() == f"A={KEY}\n"
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600
    assert keys(places).find("A") == FoundKey(KEY, ".env")
    assert KEY in mine.values()


def test_the_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    places = Settings(tmp_path / "new" / "config", tmp_path, tmp_path)
    keys(places).store("A", KEY, ".env")
    assert stat.S_IMODE(places.config.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# mine\nA=old # note\n\nB='b'\n", "# mine\nA=new\n\nB='b'\n"),
        ("A=first\nA=second\nB=b", "A=first\nA=new\nB=b"),
        ("B=b", "B=b\nA=new\n"),
        ("\n# B\n", "\n# B\nA=new\n"),
        ("B=b\r\nA=old\r\n", "B=b\r\nA=new\r\n"),
        ("B=b\r\n", "B=b\r\nA=new\r\n"),
        ("B=\u2028x\x0cy\nA='", "B=\u2028x\x0cy\nA=new"),
        ("nonsense\nAA=old\n", "nonsense\nAA=old\nA=new\n"),
        ("", "A=new\n"),
    ],
)
def test_other_lines_are_not_disturbed(
    places: Settings, env_file: Path, before: str, after: str
) -> None:
    env_file.write_bytes(before.encode())
    env_file.chmod(0o644)
    keys(places).store("A", "new", ".env")
    assert env_file.read_bytes().decode() == after
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "value", ["sk-plain_1", "with space", "a#b #c", "it's", "both ' and \"", "back\\slash'", "$X"]
)
def test_what_is_kept_is_what_is_found(places: Settings, value: str) -> None:
    keys(places).store("A", value, ".env")
    assert keys(places).find("A") == FoundKey(value, ".env")


def test_a_link_to_the_file_stays_a_link(places: Settings, env_file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.env"
    real.write_text("B=b\n")
    env_file.symlink_to(real)
    keys(places).store("A", KEY, ".env")
    assert env_file.is_symlink()
    assert real.read_text() == f"B=b\nA={KEY}\n"


@pytest.mark.parametrize("value", ["", "  ", f"{KEY}\nB=c", "a\x1bb"])
def test_a_value_that_is_no_key_is_refused_without_being_shown(
    places: Settings, env_file: Path, value: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        keys(places).store("A", value, ".env")
    assert str(raised.value) == "the value for A is empty, or not on one line"
    assert not env_file.exists()


def test_a_name_that_no_variable_has_is_refused(places: Settings) -> None:
    with pytest.raises(SettingsError, match="'A B' cannot be the name of a variable"):
        keys(places).store("A B", KEY, ".env")


def test_a_key_kept_in_the_keyring_is_not_in_the_file(
    places: Settings, env_file: Path, backend: InMemory
) -> None:
    keys(places).store("A", KEY, "keyring")
    assert backend.kept == {("clawkit", "A"): KEY}
    assert not env_file.exists()
    assert keys(places, with_keyring=True).find("A") == FoundKey(KEY, "keyring")


@pytest.mark.usefixtures("no_backend")
def test_a_keyring_without_a_backend_is_an_error_that_says_what_to_do(places: Settings) -> None:
    with pytest.raises(SettingsError) as raised:
        keys(places, with_keyring=True).find("A")
    assert "the keyring cannot be used: No recommended backend was available" in str(raised.value)
    assert "or set A in the environment and `keyring = false`" in str(raised.value)
    with pytest.raises(SettingsError) as raised:
        keys(places).store("A", KEY, "keyring")
    assert KEY not in str(raised.value)


def test_a_keyring_package_that_is_missing_is_an_error_that_says_what_to_do(
    places: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setitem(sys.modules, "keyring.errors", None)
    with pytest.raises(SettingsError, match=r"pip install 'clawkit\[keyring\]'"):
        keys(places, with_keyring=True).find("A")
