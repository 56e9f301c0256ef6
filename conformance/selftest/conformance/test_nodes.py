"""Real nodes under a world: found by searching, blocked, killed and started again, and no member loses anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from elasticsearch import Elasticsearch as Client

from isolane.conformance.checkers import judge
from isolane.conformance.depth import depth
from isolane.conformance.history import History
from isolane.conformance.nodes import Nodes
from isolane.conformance.opening import Plan, Services, opened
from isolane.conformance.outages import without_node
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.verdict import Verdict
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.services import Kafka, elasticsearch_documents
from isolane.fixtures.services.elasticsearch_probe import NotAnsweringError

pytestmark = pytest.mark.services

SHAPE = Shape((TenantShape("a", "sick", 2, rate=40),))
PLAN = Plan("small", ("DEL-1", "DEL-9", "OFF-1", "OFF-2"), SHAPE, depth("smoke"), seed=1)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Two nodes that are started ahead; nothing is left of them."""
    with Nodes(tmp_path_factory.mktemp("nodes"), print, ahead=({}, {})) as started:
        yield started
    assert psutil.Process().children(recursive=True) == []


@pytest.fixture(scope="module")
def endpoint(nodes: Nodes) -> Iterator[str]:
    """The URL of the node of a tenant `b`."""
    yield nodes.add("b")
    nodes.remove("b")


def test_a_member_and_a_node_that_are_killed_lose_nothing(nodes: Nodes, tmp_path: Path) -> None:
    """Load, kill -9 of the member, kill -9 of the node, and a drain: everything is found, as one document each."""
    folder = tmp_path / "small"
    with (
        Kafka.native(tmp_path / "kafka", progress=print) as kafka,
        opened(PLAN, descriptor.find("reference"), Services(kafka.bootstrap, nodes), folder, print) as world,
    ):
        world.members.start()
        world.await_ready(timeout=world.patience)
        world.load_within(1000)
        world.run_for(1)
        world.members.kill()
        assert world.look()
        world.members.start()
        with without_node(world, "a"):
            world.run_for(1)
        assert world.drain(timeout=world.patience)
    history = History.load(folder)
    verdicts = {finding.requirement: finding.verdict for finding in judge(history)}
    assert {name: verdicts[name] for name in PLAN.judges} == dict.fromkeys(PLAN.judges, Verdict.PASS)
    assert len(history.documents) == sum(record.items for record in history.produced)
    assert any(search.error for search in history.searches)
    assert not history.attempts


def test_everything_is_found(nodes: Nodes, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More documents than one answer holds, of several indices, hidden ones too, none of them refreshed before."""
    monkeypatch.setattr(elasticsearch_documents, "_PAGE", 2)
    with Client(endpoint) as client:
        for index, hidden in (("seen", False), ("hidden", True)):
            client.indices.create(index=index, settings={"index.hidden": hidden, "index.refresh_interval": "-1"})
            for number in range(5):
                client.create(index=index, id=str(number), document={"number": number})
    found = [(each.index, each.id) for each in nodes.documents("b") if each.index in {"seen", "hidden"}]
    assert sorted(found) == [(index, str(number)) for index in ("hidden", "seen") for number in range(5)]


def test_a_block_refuses_documents_until_it_is_lifted(nodes: Nodes, endpoint: str) -> None:
    """The node answers 403 to each, as after a flood of its disk; what was there can be searched meanwhile."""
    with Client(endpoint) as client:
        client.create(index="blocked", id="1", document={"body": "before"})
        nodes.block_writes("b", blocked=True)
        reply = client.bulk(operations=[{"create": {"_index": "blocked", "_id": "2"}}, {"body": "meanwhile"}])
        assert reply["items"][0]["create"]["status"] == 403
        assert [document.id for document in nodes.documents("b") if document.index == "blocked"] == ["1"]
        nodes.block_writes("b", blocked=False)
        client.create(index="blocked", id="2", document={"body": "afterwards"})
    assert {b'{"body":"before"}', b'{"body":"afterwards"}'} <= {each.source for each in nodes.documents("b")}


def test_a_node_that_is_not_there_cannot_be_searched(nodes: Nodes, endpoint: str) -> None:
    """That is said, and nothing is taken for gone; started again it has what it had, at the same address."""
    with Client(endpoint) as client:
        client.create(index="kept", id="1", document={"body": "kept"})
        nodes.kill("b")
        with pytest.raises(NotAnsweringError, match="refused"):
            nodes.documents("b")
        nodes.start("b")
        assert client.get(index="kept", id="1")["_source"] == {"body": "kept"}
    assert b'{"body":"kept"}' in {each.source for each in nodes.documents("b")}
