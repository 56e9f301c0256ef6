"""OPS-3: planted credentials appear in no output, metric or error, neither as they are nor encoded."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from isolane.conformance.checkers.cases import Judge
from isolane.conformance.history import History
from isolane.conformance.verdict import Figure, Finding

SHOWN = 4
"""Characters of a secret that a finding shows: a report is read by more people than a configuration."""

FEWEST_REFUSALS = 1
"""Requests that must have been refused for their credentials, so that errors about those were due."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret that was found: where, and in what form."""

    where: str
    form: str
    secret: str

    def __str__(self) -> str:
        """Return it for people, with the beginning of the secret only."""
        return f"{self.secret[:SHOWN]}… {self.form} in {self.where}"


def check(history: History) -> list[Finding]:
    """Return the finding on OPS-3 where the scenario declares it."""
    if "OPS-3" not in history.meta.judges:
        return []
    judge = Judge(history, "OPS-3")
    searched = list(_places(history))
    leaks = list(leaks_of(history))
    refused = sum(attempt.status == 401 for attempt in history.attempts)
    figures = {
        "credentials planted": Figure(len(history.meta.secrets), "", "≥ 1"),
        "characters searched": Figure(sum(len(text) for _, text in searched), "", "≥ 1"),
        "requests refused for their credentials": Figure(refused, "", f"≥ {FEWEST_REFUSALS}"),
        "places in which one was found": Figure(len(leaks), "", "= 0"),
    }
    if leaks:
        return [judge.violates(f"a credential was shown: {leaks[0]}", figures)]
    if not history.meta.secrets or not any(text for _, text in searched):
        return [judge.doubts("there were no credentials, or there was nothing to search", figures)]
    if refused < FEWEST_REFUSALS:
        return [judge.doubts("no request was refused for its credentials", figures)]
    return [judge.passes("no credential was shown anywhere", figures)]


def leaks_of(history: History) -> Iterator[Leak]:
    """Yield where a secret was found, and in which form."""
    for where, text in _places(history):
        for secret in history.meta.secrets:
            form = next((form for form, needle in forms(secret) if needle in text), None)
            if form is not None:
                yield Leak(where, form, secret)


def _places(history: History) -> Iterator[tuple[str, str]]:
    yield "the output", "\n".join(history.output)
    yield "the metrics", "\n".join(scrape.text for scrape in history.scrapes)
    yield "the dead letters", "\n".join(letter.reason for letter in history.dead_letters)
    yield "the errors", "\n".join(str(event.detail["words"]) for event in history.events if event.kind == "wrong")


def forms(secret: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to write a secret: its name, and the text to look for."""
    yield "as it is", secret
    if quote(secret, safe="") != secret:
        yield "quoted", quote(secret, safe="")
    yield from (("in base64", text) for text in _within_base64(secret.encode()))
    if (decoded := _decoded(secret)) is not None:
        yield "decoded", decoded
        _, colon, key = decoded.partition(":")
        if colon:
            yield "decoded", key


def _within_base64(raw: bytes) -> Iterator[str]:
    """Yield what every base64 of a text with these bytes in it must contain, by where in it they begin."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).decode().rstrip("=")
        whole = len(encoded) - (1 if (before + len(raw)) % 3 else 0)
        yield encoded[(0, 2, 3)[before] : whole]


def _decoded(secret: str) -> str | None:
    try:
        return base64.b64decode(secret, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
