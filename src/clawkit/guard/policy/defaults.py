"""The policy that `claw policy init` writes: secrets stay shut, for the rest a person is asked."""

from __future__ import annotations

from pathlib import Path

from clawkit.errors import PolicyError
from clawkit.hosts.files import write_new

SHELL_LIKE = ("*shell*", "*exec*", "*bash*", "*terminal*", "*command*", "run_*", "run-*")
"""Names of tools that run programs."""

_SHELL_LIKE_TEXT = ", ".join(f'"{name}"' for name in SHELL_LIKE)

DEFAULT_POLICY = f"""\
# The guard's policy. Rules are read from the top; the first that matches a call decides:
#   "deny" refuses it, "prompt" asks you, "allow" lets it through. No match: tool calls,
#   resources, prompts and sampling are refused, other methods pass.
# In patterns, * is anything without "/", ** is anything, ? is one character.
# Changes count at once. `claw policy lint` checks this file, `claw policy explain` a call.

# Secrets, wherever a tool, a resource or a prompt names them. args."*" looks into every
# argument, however deep, and knows other spellings of the same path.
[[rule]]
action = "deny"
tool = "*"
args."*" = [
    "**/.ssh/**", "**/.gnupg/**", "**/id_rsa*", "**/id_ed25519*", "**/id_ecdsa*",
    "**/*.pem", "**/*.p12", "**/*.pfx", "**/*.kdbx",
    "**/.env", "**/.env.*", "**/.netrc", "**/.npmrc", "**/.pypirc", "**/.git-credentials",
    "**/.aws/**", "**/.azure/**", "**/.config/gcloud/**", "**/.kube/**", "**/.docker/config.json",
]
description = "Keys and credentials are off limits"

# The machine itself.
[[rule]]
action = "deny"
tool = "*"
args."*" = [
    "/etc/**", "**/etc/shadow*", "**/etc/sudoers*", "/proc/**", "/sys/**", "/boot/**",
    "**/docker.sock", "C:/Windows/**",
]
description = "System files are off limits"

# Who may change this file decides everything.
[[rule]]
action = "deny"
tool = "*"
args."*" = ["**/.config/clawai/**", "**/clawai/policy.toml", "**/claw/guard/**"]
description = "The guard's own files are off limits"

# Addresses at which clouds hand out credentials.
[[rule]]
action = "deny"
tool = "*"
args."*" = [
    "**169.254.169.254**", "**metadata.google.internal**", "**100.100.100.200**",
    "**fd00:ec2::254**",
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
