"""Calls of a Being's tool with a login's token and with one made by hand, in turns."""

import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.memory_serving import Client, Served, our_server
from benchmarks.report import Report, Row, at_most
from clawkit.login import grants, identities, people
from clawkit.login.grants import Consent
from clawkit.memory import tokens
from clawkit.memory.being_store import BeingStore
from clawkit.store import open_store
from tests.login.issuer import issuing

BOUND = 1.10
"""A login may cost so many times what a static token costs."""


def run(quick: bool) -> list[Report]:
    rounds, calls = (5, 40) if quick else (20, 200)
    with tempfile.TemporaryDirectory() as folder, issuing() as issuer:
        address = f"sqlite:{Path(folder) / 'beings.db'}"
        store = BeingStore(open_store(address), "none")
        being = store.create("Ada")
        by_hand, _ = tokens.issue(store, being)
        with our_server(address, "--login", "--embedder", "none") as server:
            with_login = _login(store, being.n, f"http://localhost:{server.port}/mcp", issuer.url)
            own = _both(server, (being.id, by_hand), "a login's token", with_login, rounds, calls)
        foreign = ("--jwt-issuer", issuer.url, "--audience", "claw")
        with our_server(address, *foreign, "--embedder", "none") as server:
            signed = issuer.token(aud="claw")
            name = "a token of another server"
            others = _both(server, (being.id, by_hand), name, signed, rounds, calls)
        store.close()
    return [
        _report("login_calls", "a login costs at most 10 % more", own),
        _report("issuer_calls", "another server's token costs at most 10 % more", others),
    ]


def _both(
    server: Served, by_hand: tuple[str, str], name: str, token: str, rounds: int, calls: int
) -> dict[str, float]:
    """The seconds of a call with a token made by hand, and with another one."""
    clients = {"a token made by hand": server.client(*by_hand), name: server.client(token=token)}
    seconds = _measured(clients, rounds, calls)
    for client in clients.values():
        client.close()
    return seconds


def _report(called: str, words: str, seconds: dict[str, float]) -> Report:
    hand, other = seconds.values()
    rows = tuple(Row(name, (value * 1e6,)) for name, value in seconds.items())
    bar = at_most(words, other / hand, BOUND, " times")
    title = "One call of a Being's tool over HTTP, by the kind of token"
    return Report(called, title, ("µs",), rows, (bar,))


def _login(store: BeingStore, being: int, resource: str, issuer: str) -> str:
    """An access token as somebody's consent gives it; an issuer knows them, too."""
    now = time.time()
    with store.database.registry(write=True) as connection:
        person = people.add(connection, "ada", "owner", now)
        identities.bind_new(connection, person, issuer, "1001", now)
        consent = Consent("client", "Editor", "", "", person.id, resource, "full", being)
        exchange = grants.use_code(connection, grants.keep_code(connection, consent, now), now)
        assert exchange is not None
        return grants.begin(connection, exchange, now).access


def _measured(clients: dict[str, Client], rounds: int, calls: int) -> dict[str, float]:
    """The middle of all calls of each client; they take turns within a round."""
    found: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(rounds):
        for name, client in clients.items():
            found[name] += [client.timed("get_current_time")[0] for _ in range(calls)]
    return {name: median(values) for name, values in found.items()}
