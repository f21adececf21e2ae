"""The log: one JSON line a request, nothing secret in it, and never in the way."""

from __future__ import annotations

import json
import logging
import queue
import threading

import pytest

from clawkit.errors import StoreError
from clawkit.memory.http import app, request_log
from clawkit.memory.http.request_log import Log, LogHandler
from tests.memory.http.served_beings import Served
from tests.processes import PATIENCE


def collected() -> tuple[Log, list[bytes]]:
    lines: list[bytes] = []
    return Log(lambda data: lines.append(data) or len(data)), lines


def test_each_request_is_one_line_without_what_was_said(server: Served) -> None:
    full = server.token()
    said = "Ada keeps her savings under the mattress"
    server.call(full, "update_notes", {"notes": [said]}, headers={"x-request-id": "mine"})
    server.ask("brt_" + "y" * 43, "tools/list")
    server.call(full, "no tool of ours", {"a": said})
    server.ask(full, "no/method of ours")
    server.http.get("/healthz")
    first, wrong, *unknown = server.log(4)
    assert set(first) == {
        *("time", "request", "http", "method", "tool", "status", "ms", "token", "being"),
    }
    assert (first["request"], first["tool"], first["status"]) == ("mine", "update_notes", 200)
    assert (first["http"], first["method"]) == ("POST", "tools/call")
    assert first["being"] == server.being.id
    assert (wrong["status"], "token" in wrong, "being" in wrong) == (401, False, False)
    assert [(line["method"], line.get("tool")) for line in unknown] == [
        ("tools/call", "other"),
        ("other", None),
    ]
    for secret in (full, said, "y" * 43, "no tool of ours", "no/method"):
        assert secret not in server.raw_log


def test_lines_are_whole_though_little_is_written_at_once() -> None:
    pieces: list[bytes] = []
    log = Log(lambda data: pieces.append(data[:3]) or len(data[:3]))
    log.line({"status": 200, "empty": "", "none": None})
    log.close()
    (line,) = b"".join(pieces).splitlines()
    assert json.loads(line).keys() == {"time", "status"}


def test_a_log_that_nobody_reads_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_log, "_QUEUED", 5)
    busy, reads = threading.Event(), threading.Event()
    written: queue.Queue[bytes] = queue.Queue()

    def write(data: bytes) -> int:
        busy.set()
        assert reads.wait(PATIENCE)
        written.put(data)
        return len(data)

    log = Log(write)
    log.line({"n": 0})
    assert busy.wait(PATIENCE)
    for n in range(1, 20):
        log.line({"n": n})
    reads.set()
    kept = [json.loads(written.get(timeout=PATIENCE))["n"] for _ in range(6)]
    assert kept == [0, 1, 2, 3, 4, 5]
    log.line({"n": 20})
    log.close()
    last = json.loads(written.get_nowait())
    assert (last["n"], last["dropped_lines"]) == (20, 14)


def test_a_reader_that_is_gone_does_no_harm() -> None:
    def write(_: bytes) -> int:
        raise BrokenPipeError

    log = Log(write)
    for _ in range(100):
        log.line({"status": 200})
    log.close()


def test_an_error_is_logged_by_its_type_and_its_way() -> None:
    log, lines = collected()
    handler = LogHandler(log)
    logger = logging.getLogger("clawkit.test")
    logger.addHandler(handler)
    for error in (ValueError("what Ada said"), StoreError("the disk is full")):
        try:
            raise error
        except Exception:
            logger.exception("%s failed", "recall")
    logger.removeHandler(handler)
    log.close()
    ours, stores = (json.loads(line) for line in lines)
    assert (ours["level"], ours["from"], ours["message"]) == (
        "error",
        "clawkit.test",
        "recall failed",
    )
    assert ours["error"] == "ValueError"
    assert "test_request_log.py" in ours["way"][-1]
    assert b"what Ada said" not in b"".join(lines)
    assert stores["error"] == "StoreError: the disk is full"


def test_a_fault_that_comes_again_and_again_does_not_fill_the_disk() -> None:
    log, lines = collected()
    handler = LogHandler(log)
    logger = logging.getLogger("clawkit.test")
    logger.addHandler(handler)
    for n in range(1000):
        logger.error("try %d to accept failed", n)
    logger.error("something else")
    logger.removeHandler(handler)
    log.close()
    assert 100 <= len(lines) <= 110
    last = json.loads(lines[-1])
    assert last["message"] == "something else"
    assert last["dropped_lines"] >= 890


def test_a_thread_that_fails_is_a_line_like_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise ValueError("what Ada said")

    lines: list[bytes] = []
    monkeypatch.setattr(request_log.os, "write", lambda _, data: lines.append(data) or len(data))
    with app._logging():
        thread = threading.Thread(target=fail, name="some")
        thread.start()
        thread.join(PATIENCE)
    (line,) = map(json.loads, lines)
    assert (line["message"], line["error"]) == ("the thread some failed", "ValueError")
