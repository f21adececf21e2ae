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
from clawkit.system.files import write_new

SHELL_LIKE = ("*shell*", "*exec*", "*bash*", "*terminal*", "*command*", "run_*", "run-*")
"""Names of tools that run programs."""

CLIENT_FILES = tuple(dict.fromkeys(name for each in CLIENTS for name in file_patterns(each)))
"""Where the clients that we know keep their servers: a tool that may write there needs no guard."""

MOVES_FOLDERS = (
    *("*move*", "*rename*", "*mv*", "*copy*", "*link*", "*delete*", "*remove*", "*rmdir*"),
    *("*trash*", "*zip*", "*archive*"),
)
"""Names of tools that take a folder with all that is in it."""


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
_SHELL_LIKE_TEXT = ", ".join(f'"{name}"' for name in SHELL_LIKE)

_PLACES = f"""\
# The guard's policy. Rules are read from the top; the first that matches a call decides:
#   "deny" refuses it, "prompt" asks you, "allow" lets it through. No match: tool calls,
#   resources, prompts and sampling are refused, other methods pass.
# In patterns, * is anything without "/", ** is anything, ? is one character.
# Changes count at once, what they allow anew a second later. `claw policy lint` checks this
# file, `claw policy explain` a call.

# Secrets, wherever a tool, a resource or a prompt names them. args."*" looks into every
# argument, however deep, and knows other spellings of the same path.
[[rule]]
action = "deny"
tool = "*"
args."*" = [
    "**/.ssh/**", "**/.gnupg/**", "**/id_rsa*", "**/id_ed25519*", "**/id_ecdsa*", "**/id_dsa*",
    "**/*.pem", "**/*.p12", "**/*.pfx", "**/*.kdbx", "**/*.ppk", "**/*.keystore", "**/*.jks",
    "**/.env", "**/.env.*", "**/.envrc", "**/.netrc", "**/_netrc", "**/.npmrc", "**/.pypirc",
    "**/.git-credentials", "**/.aws/**", "**/.azure/**", "**/.config/gcloud/**", "**/.kube/**",
    "**/.docker/config.json", "**/.config/gh/**", "**/gh/hosts.yml", "**/GitHub CLI/hosts.yml",
    "**/glab-cli/config.yml", "**/.pgpass", "**/pgpass.conf", "**/.my.cnf", "**/.mylogin.cnf",
    "**/.vault-token", "**/.terraformrc", "**/credentials.tfrc.json", "**/.cargo/credentials*",
    "**/.gem/credentials", "**/.m2/settings.xml", "**/.boto", "**/.s3cfg", "**/rclone/rclone.conf",
    "**/.*_history",
]
description = "Keys and credentials are off limits"

# What AI clients, keyrings and browsers keep.
[[rule]]
action = "deny"
tool = "*"
args."*" = [
    "**/.claude/.credentials.json", "**/.codex/auth.json", "**/.gemini/oauth_creds.json",
    "**/.gemini/google_accounts.json", "**/.openai/**", "**/.anthropic/**", "**/.config/openai/**",
    "**/.config/anthropic/**", "**/github-copilot/**", "**/opencode/auth.json",
    "**/.codeium/config.json", "**/globalStorage/state.vscdb*", "**/.cache/huggingface/token",
    "**/.huggingface/token", "**/.openclaw/credentials/**", "**/io.datasette.llm/keys.json",
    "**/.local/share/keyrings/**", "**/kwalletd/**", "**/Library/Keychains/**",
    "**/.password-store/**", "**/Microsoft/Credentials/**", "**/Microsoft/Protect/**",
    "**/.mozilla/**", "**/Firefox/Profiles/**", "**/snap/firefox/**", "**/org.mozilla.firefox/**",
    "**/.config/google-chrome*/**", "**/.config/chromium/**", "**/.config/BraveSoftware/**",
    "**/.config/microsoft-edge*/**", "**/.config/vivaldi/**", "**/Google/Chrome/**",
    "**/BraveSoftware/Brave-Browser/**", "**/Microsoft/Edge/**", "**/Library/Safari/**",
    "**/Library/Cookies/**", "**/cookies.sqlite", "**/logins.json", "**/key4.db", "**/Login Data",
]
description = "Credentials of other programs are off limits"

# The machine itself.
[[rule]]
action = "deny"
tool = "*"
args."*" = [
    "/etc/**", "**/etc/shadow*", "**/etc/sudoers*", "/proc/**", "/sys/**", "/boot/**",
    "/var/spool/cron/**", "**/docker.sock", "C:/Windows/**",
]
description = "System files are off limits"

# Who may change these decides what runs next, with nobody asked.
[[rule]]
action = "deny"
tool = "*"
args."*" = [
    "**/.bashrc", "**/.bash_profile", "**/.bash_login", "**/.bash_logout", "**/.profile",
    "**/.zshrc", "**/.zshenv", "**/.zprofile", "**/.zlogin", "**/.cshrc", "**/.tcshrc",
    "**/.config/fish/**", "**/.xprofile", "**/.xinitrc", "**/.xsessionrc", "**/*profile.ps1",
    "**/.pam_environment", "**/environment.d/**", "**/.config/autostart/**", "**/systemd/user/**",
    "**/Library/LaunchAgents/**", "**/Library/LaunchDaemons/**", "**/Programs/Startup/**",
    "**/.git/hooks/**", "**/.git/config", "**/.git/modules/**/hooks/**", "**/.gitconfig",
    "**/.config/git/**",
]
description = "What starts by itself is off limits"

# Who may change these takes the guard away.
[[rule]]
action = "deny"
tool = "*"
args."*" = [
    "**/.config/clawai/**", "**/clawai/policy.toml", "**/claw/guard/**", "**/.config/claw/**",
    "**/config/claw/**", "**/.claude/settings*.json",
    # Where clients keep their servers.
{_listed(CLIENT_FILES)}
]
description = "The guard's own files, and those that decide which servers run, are off limits"
"""

_NAMED = re.findall(r'"([^"]*/[^"]*)"', _PLACES)

DEFAULT_POLICY = f"""\
{_PLACES}
# Whoever moves a folder moves all that is in it, to where no rule looks for it.
[[rule]]
action = "deny"
tool = [
{_listed(MOVES_FOLDERS)}
]
args."*" = [
    "/", "/home", "/home/*", "/root", "/Users", "/Users/*", "C:/Users", "C:/Users/*",
{_listed(dict.fromkeys(_folders_above(_NAMED)))}
]
description = "These folders stay where they are: what they hold is off limits"

# Addresses at which clouds hand out credentials.
[[rule]]
action = "deny"
tool = "*"
args."*" = [
    "**169.254.169.254**", "**169.254.170.2**", "**169.254.169.253**", "**100.100.100.200**",
    "**168.63.129.16**", "**192.0.0.192**", "**fd00:ec2::254**", "**fd00:ec2::23**",
    "**metadata.google.internal**", "**metadata.goog**", "**metadata.tencentyun.com**",
    "http://metadata/**", "https://metadata/**", "http://instance-data/**",
    "http://instance-data.ec2.internal/**",
]
description = "Cloud credentials are off limits"

# Requests that MCP does not have, such as resources/write. Allow yours above, by their name:
# method = "x/y".
[[rule]]
action = "deny"
method = "unknown"
description = "MCP has no such request"

# What can run programs can do anything: always ask.
[[rule]]
action = "prompt"
tool = [{_SHELL_LIKE_TEXT}]
description = "This tool runs programs"

# A server that wants your model to write something.
[[rule]]
action = "prompt"
tool = "sampling/createMessage"
injection = "block"
description = "The server asks your model"

# Allow what you trust here, for example:
#   [[rule]]
#   action = "allow"
#   tool = "read_*"
#   args.path = "~/projects/**"
#   only_args = true  # without other arguments

# Everything else: ask.
[[rule]]
action = "prompt"
tool = "*"
description = "No rule allows this yet"
"""


def write_default_policy(path: Path) -> bool:
    """Write the default policy, for the owner only; False if there is a file already."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_new(path, DEFAULT_POLICY.encode())
    except FileExistsError:
        if path.parent.is_dir():
            return False
        raise PolicyError(str(path), 0, f"{path.parent} is no directory") from None
    except OSError as error:
        raise PolicyError(str(path), 0, f"cannot be written: {error.strerror}") from None
    return True
