"""The scraper of metrics: a member that answers badly, or ends in the middle of it, was not scraped that time."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from isolane.conformance.history_files import HistoryWriter, read_lines
from isolane.conformance.observe_metrics import MetricsScraper
from isolane.conformance.selftest.reference.raw_server import serving

WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nslots\n"


@pytest.mark.parametrize(
    ("answer", "texts"),
    [(WHOLE, ["slots\n"]), (WHOLE[:-3], []), (b"what?\r\n\r\n", []), (b"", [])],
    ids=["whole", "broken off", "no HTTP", "nothing"],
)
def test_what_is_no_whole_answer_is_no_scrape(answer: bytes, texts: list[str], tmp_path: Path) -> None:
    """And ends nothing: the next one may be whole."""

    def talk(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)

    path = tmp_path / "scrapes.ndjson"
    with serving(talk) as url, HistoryWriter(path) as scrapes:
        MetricsScraper(lambda: {0: url}, scrapes).read()
    assert [line["text"] for _, line in read_lines(path)] == texts
