"""Dead letters are written down once, with what they say, and when they can have been there at the earliest."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from isolane.conformance import history_values
from isolane.conformance.broker import UnreadableError
from isolane.conformance.history_files import HistoryWriter, read_lines
from isolane.conformance.history_values import DeadLetter
from isolane.conformance.observe_letters import Letter, LetterObserver, letter_topics, source_of
from isolane.conformance.tokens import Token
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.descriptor import DeadLetter as Declared
from isolane.fixtures.implementations.descriptor import DeadLetterHeaders

TOKENS = [Token(7, 1, 0, 5), Token(7, 1, 0, 5, 1)]
FIELDS = {"topic": b"t1", "partition": b"0", "offset": b"5", "reason": b"not JSON"}


class Shelf:
    """A place whose letters a test puts there; or that cannot be read."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.letters: list[Letter] = []
        self.readable = True

    def read(self) -> Iterable[Letter]:
        """Give what is there."""
        if not self.readable:
            raise UnreadableError("gone")
        taken, self.letters = self.letters, []
        return taken


def observed(folder: Path, shelf: Shelf, *letters: Letter) -> list[DeadLetter]:
    """What is written down of letters that were there at the second of three readings."""
    with HistoryWriter(folder / "dead_letters.ndjson") as writer:
        observer = LetterObserver(shelf, DeadLetterHeaders(), {"t0": 0, "t1": 1}, writer)
        nothing: tuple[Letter, ...] = ()
        for there in (nothing, letters, nothing):
            shelf.letters.extend(there)
            observer.read()
    return [history_values.dead_letter(line) for _, line in read_lines(folder / "dead_letters.ndjson")]


def test_a_letter_says_what_it_is_about(tmp_path: Path) -> None:
    """Each token in it once, and the place by the topic's number."""
    content = b"..." + TOKENS[0].encode() + TOKENS[1].encode() + TOKENS[0].encode()
    (letter,) = observed(tmp_path, Shelf(), Letter(content, FIELDS))
    assert letter.place == (1, 0, 5)
    assert letter.reason == "not JSON"
    assert letter.items == tuple(token.number for token in TOKENS)


def test_a_letter_was_not_there_when_the_reading_before_began(tmp_path: Path) -> None:
    """That is the earliest; it was seen later."""
    began = time.monotonic()
    (letter,) = observed(tmp_path, Shelf(), Letter(b"", FIELDS))
    assert began <= letter.at <= letter.seen <= time.monotonic()


def test_a_reading_that_fails_leaves_the_earliest_moment_where_it_was(tmp_path: Path) -> None:
    """What comes after it may have been there all the time."""
    shelf = Shelf()
    with HistoryWriter(tmp_path / "dead_letters.ndjson") as writer:
        observer = LetterObserver(shelf, DeadLetterHeaders(), {}, writer)
        until = time.monotonic()
        shelf.readable = False
        with pytest.raises(UnreadableError):
            observer.read()
        shelf.readable = True
        shelf.letters.append(Letter(b"", {}))
        observer.read()
    (line,) = [line for _, line in read_lines(tmp_path / "dead_letters.ndjson")]
    assert line["at"] <= until


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="says nothing"),
        pytest.param(FIELDS | {"topic": b"foreign"}, id="another topic"),
        pytest.param(FIELDS | {"offset": b"fifth"}, id="no number"),
        pytest.param({name: value for name, value in FIELDS.items() if name != "partition"}, id="no partition"),
    ],
)
def test_a_letter_that_does_not_name_its_record_has_no_place(fields: dict[str, bytes], tmp_path: Path) -> None:
    """It is told all the same."""
    (letter,) = observed(tmp_path, Shelf(), Letter(b"", fields))
    assert letter.place is None


def test_numbers_may_be_binary(tmp_path: Path) -> None:
    """As some libraries write headers: big-endian, of four or eight bytes."""
    fields = FIELDS | {"partition": (0).to_bytes(4), "offset": (5).to_bytes(8)}
    (letter,) = observed(tmp_path, Shelf(), Letter(b"", fields))
    assert letter.place == (1, 0, 5)


def test_topics_of_dead_letters_follow_from_the_descriptor() -> None:
    """One for each topic where the name says so, one for all of them otherwise, and none elsewhere."""
    each = Declared(kind="kafka", where="{topic}.dead_letter")
    assert letter_topics(each, ["a", "b"]) == {"a.dead_letter", "b.dead_letter"}
    assert letter_topics(Declared(kind="kafka", where="dead"), ["a", "b"]) == {"dead"}
    assert letter_topics(Declared(kind="index", where="dead"), ["a"]) == set()
    assert letter_topics(Declared(), ["a"]) == set()


def test_a_file_of_dead_letters_is_read_line_by_line(tmp_path: Path) -> None:
    """JSON objects say what they are about; of anything else the tokens are found; an unfinished line has to wait."""
    declared, path = Declared(kind="file", where="dead.ndjson"), tmp_path / "dead.ndjson"
    with source_of(declared, "", frozenset(), tmp_path) as source:
        assert source is not None
        assert list(source.read()) == []
        path.write_bytes(b'{"topic":"t1","offset":5}\nplain\n["a"]\n{"half')
        assert [letter.fields for letter in source.read()] == [{"topic": b"t1", "offset": b"5"}, {}, {}]
        with path.open("ab") as file:
            file.write(b'":1}\n')
        assert [letter.content for letter in source.read()] == [b'{"half":1}']
        path.unlink()
        path.mkdir()
        with pytest.raises(UnreadableError):
            source.read()


def test_an_index_of_dead_letters_needs_no_observer(tmp_path: Path) -> None:
    """The ledger has what arrived there."""
    for declared in (Declared(kind="index", where="dead"), Declared()):
        with source_of(declared, "", frozenset(), tmp_path) as source:
            assert source is None


def test_the_reference_says_where_its_dead_letters_go() -> None:
    """And what becomes of records that it cannot decode."""
    declared = descriptor.find("reference").dead_letter
    assert (declared.kind, declared.where, declared.policy) == ("kafka", "{topic}.dead_letter", "dead_letter")
