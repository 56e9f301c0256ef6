"""The searcher: each document is told once, with the last search that did not find it, and when it is gone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from isolane.conformance.history_files import FOUND, HistoryWriter, Line, read_lines
from isolane.conformance.searching import Searcher, searching
from isolane.conformance.tokens import Token
from isolane.fixtures.services.elasticsearch_documents import Stored
from isolane.fixtures.services.elasticsearch_probe import NotAnsweringError

FIRST, SECOND = (Token(1, 0, 0, sequence) for sequence in range(2))


class Cluster:
    """What a search finds: `holds`, or the reason why it does not."""

    def __init__(self) -> None:
        """Hold nothing."""
        self.holds: list[Stored] = []
        self.reason = ""

    def store(self, token: Token, *, index: str = "logs") -> None:
        """Hold one more document, whose id is that of its token."""
        self.holds.append(Stored(index, str(token), f'{{"body":"{token} {token}"}}'.encode()))

    def search(self) -> list[Stored]:
        """Return everything, or raise."""
        if self.reason:
            raise NotAnsweringError(self.reason)
        return self.holds


@pytest.fixture
def cluster() -> Cluster:
    """A cluster that is empty."""
    return Cluster()


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[HistoryWriter]:
    """The file of the history."""
    with HistoryWriter(tmp_path / FOUND) as opened:
        yield opened


def lines(folder: Path, what: str) -> list[Line]:
    """The lines of one kind that were written."""
    return [line for _, line in read_lines(folder / FOUND) if line["e"] == what]


def test_a_document_is_told_once(cluster: Cluster, writer: HistoryWriter, tmp_path: Path) -> None:
    """With its tokens, each once, and the begin of the search that had not found it."""
    searcher = Searcher("a", cluster.search, writer)
    searcher.read()
    cluster.store(FIRST)
    assert searcher.read()
    searcher.read()
    (found,) = lines(tmp_path, "found")
    before, finding, after = lines(tmp_path, "searched")
    assert (found["tenant"], found["index"], found["id"]) == ("a", "logs", str(FIRST))
    assert found["tokens"] == [str(FIRST)]
    assert found["at"] == before["began"]
    assert found["seen"] == finding["ended"]
    assert after["documents"] == 1


def test_what_the_first_search_finds_came_after_the_begin(
    cluster: Cluster, writer: HistoryWriter, tmp_path: Path
) -> None:
    """The cluster was empty when the searcher was made."""
    searcher = Searcher("a", cluster.search, writer)
    cluster.store(FIRST)
    searcher.read()
    (found,), (search,) = lines(tmp_path, "found"), lines(tmp_path, "searched")
    assert found["at"] <= search["began"]


def test_a_search_that_was_not_complete_proves_nothing(cluster: Cluster, writer: HistoryWriter, tmp_path: Path) -> None:
    """Its reason is told; what the next one finds may have been there as early as the one before it."""
    searcher = Searcher("a", cluster.search, writer)
    searcher.read()
    cluster.reason = "refused"
    assert not searcher.read()
    cluster.reason = ""
    cluster.store(FIRST)
    searcher.read()
    (found,) = lines(tmp_path, "found")
    first, failed, _ = lines(tmp_path, "searched")
    assert failed["error"] == "refused"
    assert found["at"] == first["began"]
    assert lines(tmp_path, "gone") == []


def test_a_document_that_is_gone_is_told(cluster: Cluster, writer: HistoryWriter, tmp_path: Path) -> None:
    """Once; and one that comes again is found again."""
    searcher = Searcher("a", cluster.search, writer)
    cluster.store(FIRST)
    searcher.read()
    cluster.holds.clear()
    searcher.read()
    searcher.read()
    (gone,) = lines(tmp_path, "gone")
    assert (gone["tenant"], gone["index"], gone["id"]) == ("a", "logs", str(FIRST))
    cluster.store(FIRST)
    searcher.read()
    assert len(lines(tmp_path, "found")) == 2


def test_another_document_with_the_same_id_is_told(cluster: Cluster, writer: HistoryWriter, tmp_path: Path) -> None:
    """It took the place of the one before."""
    searcher = Searcher("a", cluster.search, writer)
    cluster.store(FIRST)
    searcher.read()
    cluster.holds = [Stored("logs", str(FIRST), f'{{"body":"{SECOND}"}}'.encode())]
    searcher.read()
    assert [line["tokens"] for line in lines(tmp_path, "found")] == [[str(FIRST)], [str(SECOND)]]


def test_the_last_search_is_made_at_the_end(
    cluster: Cluster, writer: HistoryWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever came until then is found; a cluster that cannot be searched at once is asked again."""
    monkeypatch.setattr("isolane.conformance.searching.PAUSE", 0.01)
    refusals = [NotAnsweringError("it is starting")]
    ended = threading.Event()

    def search() -> list[Stored]:
        if ended.is_set() and refusals:
            raise refusals.pop()
        return cluster.search()

    with searching(Searcher("a", search, writer)):
        ended.set()
        cluster.store(FIRST)
    assert [line["tokens"] for line in lines(tmp_path, "found")] == [[str(FIRST)]]
    searches = lines(tmp_path, "searched")
    assert sum("error" in line for line in searches) == 1
    assert searches[-1]["documents"] == 1
