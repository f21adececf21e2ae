"""The remote embedder against a real HTTP server that speaks OpenAI's wire."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from clawkit.errors import (
    NoSuchModelError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
    RefusedRequestError,
)
from clawkit.memory.embed.factory import embedder
from clawkit.memory.embed.remote import RemoteEmbedder

KEY = "sk-test-0123456789"


class Server(ThreadingHTTPServer):
    """Vectors of the texts' lengths, last text first; `answers` come before the usual ones."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str] = []
        self.answers: list[tuple[int, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server.asked.append(body)
        server.paths.append(self.path)
        server.keys.append(self.headers.get("authorization", ""))
        if server.answers:
            status, headers, data = server.answers.pop(0)
        else:
            status, headers, data = 200, {}, usual(body["input"])
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(raw))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        pass


def usual(texts: list[str]) -> dict[str, Any]:
    rows = [
        {"object": "embedding", "index": at, "embedding": [float(len(text)), 1.0, 0.0]}
        for at, text in enumerate(texts)
    ]
    return {"object": "list", "data": rows[::-1], "model": "m", "usage": {}}


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.fixture
def remote(server: Server) -> Iterator[RemoteEmbedder]:
    found = RemoteEmbedder("mine", url=server.url, model="m", key=KEY)
    yield found
    found.close()


def test_rows_come_in_the_order_of_the_texts_and_have_length_one(
    server: Server, remote: RemoteEmbedder
):
    vectors = remote.embed(["a", "bbb"])
    assert np.allclose(vectors[:, 0] / vectors[:, 1], [1, 3])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert server.asked[0]["model"] == "m"
    assert server.paths == ["/v1/embeddings"]
    assert server.keys == [f"Bearer {KEY}"]
    assert remote.dimensions == 3


def test_many_texts_are_asked_64_at_a_time(server: Server, remote: RemoteEmbedder):
    vectors = remote.embed([f"text {number}" for number in range(150)])
    assert vectors.shape == (150, 3)
    assert [len(body["input"]) for body in server.asked] == [64, 64, 22]


def test_empty_texts_are_not_sent(server: Server, remote: RemoteEmbedder):
    vectors = remote.embed(["", "full", " "])
    assert server.asked[0]["input"] == ["full"]
    assert not vectors[0].any()
    assert vectors[1].any()


def test_a_long_text_is_cut(server: Server, remote: RemoteEmbedder):
    remote.embed(["y" * 10_000])
    assert len(server.asked[0]["input"][0]) == 2_000


def test_a_busy_server_is_asked_again(server: Server, remote: RemoteEmbedder):
    server.answers = [(429, {"retry-after": "0.001"}, {}), (503, {}, {"error": "overloaded"})]
    assert remote.embed(["a"]).shape == (1, 3)
    assert len(server.asked) == 3


def test_a_server_that_wants_a_long_wait_is_an_error_at_once(
    server: Server, remote: RemoteEmbedder
):
    server.answers = [(429, {"retry-after": "3600"}, {})]
    with pytest.raises(RateLimitError) as caught:
        remote.embed(["a"])
    assert caught.value.retry_after == 3600
    assert len(server.asked) == 1


def test_a_refused_key_is_named_but_never_shown(server: Server, remote: RemoteEmbedder):
    server.answers = [(401, {}, {"error": f"bad key {KEY}"})]
    with pytest.raises(RefusedKeyError, match="does not accept the key") as caught:
        remote.embed(["a"])
    assert KEY not in str(caught.value)


def test_a_missing_key_is_told_apart_from_a_refused_one(server: Server):
    server.answers = [(401, {}, {})]
    with pytest.raises(RefusedKeyError, match="none is set"):
        RemoteEmbedder("mine", url=server.url, model="m").embed(["a"])


def test_an_unknown_model_is_named(server: Server, remote: RemoteEmbedder):
    server.answers = [(404, {}, {"error": "no model m"})]
    with pytest.raises(NoSuchModelError, match='no model "m"'):
        remote.embed(["a"])


def test_a_vector_of_another_length_is_refused(server: Server):
    known = RemoteEmbedder("mine", url=server.url, model="m", key=KEY, dimensions=1536)
    with pytest.raises(RefusedRequestError, match="3 dimensions where m has 1536"):
        known.embed(["a"])


def test_a_length_that_changes_is_refused(server: Server, remote: RemoteEmbedder):
    remote.embed(["a"])
    data = {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}
    server.answers = [(200, {}, data)]
    with pytest.raises(RefusedRequestError, match="2 dimensions"):
        remote.embed(["b"])


@pytest.mark.parametrize(
    "data", [b"<html>log in</html>", {"data": []}, {"data": [{"index": 5, "embedding": [1.0]}]}]
)
def test_an_answer_that_is_no_list_of_vectors_is_refused(
    server: Server, remote: RemoteEmbedder, data: Any
):
    server.answers = [(200, {}, data)]
    with pytest.raises(RefusedRequestError):
        remote.embed(["a"])


def test_a_number_that_is_none_is_refused(server: Server, remote: RemoteEmbedder):
    server.answers = [(200, {}, b'{"data": [{"index": 0, "embedding": [NaN, 0.0, 2.0]}]}')]
    with pytest.raises(RefusedRequestError):
        remote.embed(["a"])


def test_a_redirect_is_not_followed_with_the_key(server: Server, remote: RemoteEmbedder):
    server.answers = [(307, {"location": server.url + "/elsewhere"}, {})]
    with pytest.raises(ProviderDownError, match="redirect"):
        remote.embed(["a"])
    assert len(server.asked) == 1


def test_nobody_listening_is_an_error_that_names_the_address():
    address = "http://127.0.0.1:9/v1"
    with pytest.raises(ProviderDownError, match=r"127\.0\.0\.1:9"):
        RemoteEmbedder("mine", url=address, model="m").embed(["a"])


def test_a_name_with_an_address_stands_for_a_server(server: Server):
    found = embedder(f"openai:{server.url}#nomic", key=KEY)
    assert found is not None
    assert found.embed(["abc"]).shape == (1, 3)
    assert server.asked[0]["model"] == "nomic"
    assert found.name == f"openai:{server.url}#nomic"


def test_openais_own_models_know_their_dimensions():
    found = embedder("text-embedding-3-small", key=KEY)
    assert found is not None
    assert found.dimensions == 1536
