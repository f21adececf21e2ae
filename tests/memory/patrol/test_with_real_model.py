"""A real small language model names and describes topics that were found without it."""

from __future__ import annotations

from pathlib import Path

from clawkit.memory.model import llm
from clawkit.memory.patrol import PatrolContext, digests, topics
from clawkit.memory.tokens import Caller
from tests.assistant.llama import llama_server
from tests.memory.patrol.minds import NOW, Mind, WordEmbedder


def test_a_real_model_names_and_describes_topics(mind: Mind, tmp_path: Path) -> None:
    mind.embedder = WordEmbedder(dimensions=1 << 12)
    herons = (f"the grey heron of pond {n} stood in the reeds" for n in range(6))
    boats = (f"a small boat with sail {n} left the harbour" for n in range(6))
    mind.note(*herons, *boats)
    assert mind.patrol().steps["split"] == 2
    before = {cluster.id: cluster for cluster in mind.clusters().values()}
    with llama_server(tmp_path) as server:
        model = llm("a-key", url=server.url, model="smollm2")
        run = PatrolContext(
            mind.database, mind.being, NOW + 1, Caller("t"), None, "", model, cap=None
        )
        described = digests.describe(run)
    after = {cluster.id: cluster for cluster in mind.clusters().values()}
    assert after.keys() == before.keys()
    new = [after[n] for n in after if before[n].parent is not None]
    assert described == 2
    assert all(topic.name != before[topic.id].name and topic.digest for topic in new)
    assert {word for word in ("heron", "boat") for c in new if word in c.name.casefold()} == {
        "heron",
        "boat",
    }
    with mind.database.read(mind.being) as unit:
        known = topics.known(unit)
    assert {known[topic.n].by for topic in new} == {"model"}
