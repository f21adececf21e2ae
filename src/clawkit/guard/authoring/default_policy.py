"""The policy that `claw policy init` writes: denies secrets, asks a person about the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, takewhile
from pathlib import Path
from textwrap import fill

from clawkit.errors import PolicyError
from clawkit.guard.policy.globs import is_wild
from clawkit.hosts.clients import CLIENTS, file_patterns
from clawkit.system.files import make_private, write_new

SHELL_LIKE = (
    *("*shell*", "*exec*", "*bash*", "*zsh*", "sh", "*pwsh*", "*cmd*", "*terminal*", "*command*"),
    *("run", "run_*", "run-*", "*start*process*", "*process*start*", "*to_process*"),
    *("*with_process*", "*subprocess*", "*spawn*", "*popen*", "*ssh*", "*sudo*", "*evaluate*"),
    # No retrieval, and no reply or replacement.
    *("eval", "eval_*", "eval-*", "*_eval", "*-eval", "*_eval_*", "*-eval-*"),
    *("repl", "repl_*", "repl-*", "*_repl", "*-repl", "*_repl_*", "*-repl-*"),
    *("*python*", "*javascript*", "*interpreter*", "node", "perl", "ruby"),
)
"""Names of tools that run programs."""

CLIENT_FILES = tuple(dict.fromkeys(name for each in CLIENTS for name in file_patterns(each)))
"""Where the clients that we know keep their servers: a tool that may write there needs no guard."""


def _listed(names: Iterable[str]) -> str:
    """Names as lines of a list in TOML."""
    return fill(
        ", ".join(f'"{name}"'.replace(" ", "\0") for name in names) + ",",
        96,
        initial_indent="    ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    ).replace("\0", " ")


def _folders_above(patterns: Iterable[str]) -> Iterator[str]:
    """The folders that hold what the patterns name, as far as no other folder is called so."""
    for pattern in patterns:
        *above, _ = pattern.removeprefix("**/").removesuffix("/**").split("/")
        if above and _TELLING.match(above[0]):
            literal = takewhile(lambda part: not is_wild(part), above)
            yield from (f"**/{path}" for path in accumulate(literal, "{}/{}".format))


_TELLING = re.compile(r"\.|claw|Library$")
"""How the name of a folder begins that is not just any folder of a project."""


def _made() -> str:
    """The text of `default_policy.toml`, with its words in braces filled in."""
    text = Path(__file__).with_name("default_policy.toml").read_text(encoding="utf-8")
    text = text.replace('    "{client files}",', _listed(CLIENT_FILES))
    named = re.findall(r'"([^"]*/[^"]*)"', text.partition('"{folders above}"')[0])
    text = text.replace('    "{folders above}",', _listed(dict.fromkeys(_folders_above(named))))
    return text.replace('    "{tools that run programs}",', _listed(SHELL_LIKE))


DEFAULT_POLICY = _made()


def write_default_policy(path: Path) -> bool:
    """Write the default policy, for the owner only; False if there is a file already."""
    try:
        make_private(path.parent)
        write_new(path, DEFAULT_POLICY.encode())
    except FileExistsError:
        return False
    except NotADirectoryError as error:
        raise PolicyError(str(path), 0, f"{error.filename} is no directory") from None
    except OSError as error:
        raise PolicyError(str(path), 0, f"cannot be written: {error.strerror}") from None
    return True
