"""The sessions, Beings, servers and so on that there are: values that a Tab can complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing


def known_values(kind: str) -> list[str]:
    """All there are of a kind, each once; none of a kind that only the person knows."""
    find = _FINDERS.get(kind)
    return list(dict.fromkeys(find())) if find is not None else []


def _sessions() -> Iterable[str]:
    from clawkit.assistant.config import Config
    from clawkit.assistant.sessions.store import SessionStore

    return [one.key for one in SessionStore(Config().store_file).list_sessions()]


def _beings() -> Iterable[str]:
    from clawkit.assistant.config import read_config
    from clawkit.memory.store import beings
    from clawkit.store import default_address, embedded_file, open_store

    address = read_config().memory.store or default_address()
    file = embedded_file(address)
    if file is not None and not file.exists():
        return []
    with closing(open_store(address)) as store, store.registry() as connection:
        return [one.name for one in beings.every(connection)]


def _servers() -> Iterable[str]:
    from clawkit.hosts.discovery import SearchScope, find, host_files

    return [entry.name for entry in find(host_files(SearchScope())).entries]


def _logins() -> Iterable[str]:
    """What `claw login` knows by name, and where somebody is logged in."""
    from clawkit.cli.login import known_servers
    from clawkit.login.client.stored import every_login

    return [*sorted(known_servers()), *(one.url for one in every_login())]


def _clients() -> Iterable[str]:
    from clawkit.hosts.clients import CLIENTS

    return [one.id for one in CLIENTS]


def _policies() -> Iterable[str]:
    """The policies that are kept where the one in use is; any other file may be one too."""
    from clawkit.guard.locations import policy_file

    return sorted(map(str, policy_file().parent.glob("*.toml")))


def _topics() -> Iterable[str]:
    from clawkit.cli.help.topics import topics

    return topics()


_FINDERS: dict[str, Callable[[], Iterable[str]]] = {
    "beings": _beings,
    "clients": _clients,
    "logins": _logins,
    "policies": _policies,
    "servers": _servers,
    "sessions": _sessions,
    "topics": _topics,
}
