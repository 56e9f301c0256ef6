"""Tokens survive a trip through any document, and cannot be confused with one another."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane.conformance.tokens import (
    NotATokenError,
    Token,
    TokenRangeError,
    find,
    number_of,
    partition_of,
    run_of,
    topic_of,
)

short = st.integers(0, 0xFFFF)
tokens = st.builds(Token, run=short, topic=short, partition=short, sequence=st.integers(0, 0xFFFFFFFF), item=short)


@given(tokens)
def test_a_token_is_read_back_as_it_was_written(token: Token) -> None:
    """Text, bytes and number each give back every field."""
    assert Token.parse(str(token)) == Token.parse(token.encode()) == Token.from_number(token.number) == token
    assert number_of(str(token)) == token.number


@given(tokens, tokens)
def test_two_tokens_share_a_record_key_only_if_they_differ_in_the_item_alone(one: Token, other: Token) -> None:
    """The record key is the token without its item, and takes nothing from its neighbours."""
    assert (one.record == other.record) == (
        (one.run, one.topic, one.partition, one.sequence)
        == (
            other.run,
            other.topic,
            other.partition,
            other.sequence,
        )
    )
    assert (run_of(one.record), topic_of(one.record), partition_of(one.record)) == (one.run, one.topic, one.partition)
    assert Token.of_record(one.record).item == 0


def test_the_written_form_is_the_documented_one() -> None:
    """Clusters find tokens by this form alone, so it must not drift."""
    assert str(Token(0x1234, 2, 3, 0xABCDEF, 7)) == "isotok12340002000300abcdef0007"


@given(st.lists(tokens, max_size=5))
def test_tokens_are_found_in_whatever_document_holds_them(hidden: list[Token]) -> None:
    """JSON's quotes, nesting and text around a token do not hide it."""
    document = json.dumps([{"deep": [f"é {token} isotok"]} for token in hidden]).encode()
    assert list(find(document)) == hidden


@pytest.mark.parametrize(
    ("field", "value"),
    [("run", 0x10000), ("topic", -1), ("partition", 0x10000), ("sequence", 1 << 32), ("item", 0x10000)],
)
def test_a_field_without_room_is_refused(field: str, value: int) -> None:
    """The error names the field, the value and what is allowed."""
    fields = {"run": 0, "topic": 0, "partition": 0, "sequence": 0, "item": 0} | {field: value}
    with pytest.raises(TokenRangeError, match=rf"{field} is {value}; allowed are 0 to \d+"):
        Token(**fields)


@pytest.mark.parametrize("text", ["", "isotok", "isotok" + "g" * 24, "isotok" + "A" * 24, f"{Token(1, 1, 1, 1)} "])
def test_what_is_no_token_is_refused(text: str) -> None:
    """Too short, not hexadecimal, upper case, or with something behind it."""
    with pytest.raises(NotATokenError, match="is no token"):
        Token.parse(text)
