"""What a policy consists of: rules, and options for environment, limits and audit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from clawkit.guard.policy.globs import Glob

MEGABYTE = 1024 * 1024


BASE_ENVIRONMENT = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "TZ", "TMPDIR", "TEMP", "TMP"),
    *("LANG", "LANGUAGE", "LC_*", "XDG_*", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME"),
    *("APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "HOMEDRIVE", "HOMEPATH"),
)
"""What a program needs to start, speak the right language and reach the network."""


class EnvOptions(msgspec.Struct, frozen=True):
    """`[env]`: which variables a server gets. `allow` None: all that the client gave."""

    allow: tuple[str, ...] | None = None
    servers: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def narrow(
        self,
        environment: Mapping[str, str],
        servers: tuple[str, ...],
        recorded: tuple[str, ...] | None = None,
    ) -> dict[str, str]:
        """What is left for a server that may have any of these names: what every name allows.

        One whose entry's variables are `recorded` gets those and the base, and this besides.
        """
        lists = [allowed for allowed in self._lists(servers) if allowed is not None]
        tests = [[Glob(pattern) for pattern in allowed] for allowed in lists]
        base = [Glob(pattern) for pattern in BASE_ENVIRONMENT]

        def is_given(name: str) -> bool:
            listed = all(any(glob.matches(name) for glob in globs) for globs in tests)
            if recorded is None:
                return listed
            needed = name in recorded or any(glob.matches(name) for glob in base)
            return needed or (bool(tests) and listed)

        return {name: value for name, value in environment.items() if is_given(name)}

    def _lists(self, servers: tuple[str, ...]) -> set[tuple[str, ...] | None]:
        own = dict(self.servers)
        return {own.get(server, self.allow) for server in servers} or {self.allow}


class PolicyLimits(msgspec.Struct, frozen=True):
    """`[limits]`: sizes in bytes, times in seconds."""

    message: int = 400 * MEGABYTE
    depth: int = 200
    prompts: int = 20
    prompts_per_minute: int = 60
    prompt_timeout: float = 60.0
    path_timeout: float = 30.0


class AuditOptions(msgspec.Struct, frozen=True):
    """`[audit]`: the size at which a log file is closed, and how many are kept."""

    max: int = 64 * MEGABYTE
    keep: int = 16


Action = Literal["allow", "deny", "prompt"]
Injection = Literal["block", "remove", "flag"]
Place = Literal["before", "after"]


class Argument(msgspec.Struct, frozen=True):
    """`args.a.b = ["x", "y"]` is the name ("a", "b") with the patterns "x" and "y"."""

    name: tuple[str, ...]
    patterns: tuple[str, ...]

    @property
    def label(self) -> str:
        return ".".join(("args", *self.name))


class Rate(msgspec.Struct, frozen=True):
    """At most `count` calls in any `seconds`; `text` is how the file says it."""

    count: int
    seconds: float
    text: str

    def __str__(self) -> str:
        return self.text


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[rule]]`, checked. An empty tuple is a field that the rule does not have."""

    number: int = 1  # in the order of the file
    line: int = 0  # of its header; 0 of a rule that is in no file
    action: Action
    tools: tuple[str, ...] = ()
    args: tuple[Argument, ...] = ()
    exempt: tuple[str, ...] = ()  # paths that the patterns of a guarding rule do not mean
    only_args: bool | None = None  # whether no other argument may be there; None: not said
    also_args: tuple[str, ...] = ()  # names that may be there all the same, with any value
    confined: bool = False  # whether its paths are real ones, and nothing else may hold a path
    server: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    description: str = ""
    rate: Rate | None = None
    redact: tuple[re.Pattern[str], ...] = ()
    expires: float | None = None  # seconds since 1970
    injection: Injection = "block"
    each_call: bool = False  # whether an answer counts for the one call that was asked about
    profile: str = ""  # the server's profile that it comes from; "" for the policy itself
    place: Place = "after"  # of a profile's rule: before the policy's own denies, or after them

    @property
    def stands_in(self) -> bool:
        """Whether it asks about a text in place of a rule of the policy that denies it."""
        return self.action == "prompt" and bool(self.profile) and self.place == "before"

    def expired(self, now: float) -> bool:
        return self.expires is not None and now >= self.expires
