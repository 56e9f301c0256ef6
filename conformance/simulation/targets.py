"""What can be simulated: the reference as it is, and the known-bad changes of it."""

from __future__ import annotations

import difflib
import importlib

from isolane.fixtures.known_bad import catalogue

REFERENCE = "reference"
_PREFIX = "known-bad/"


class UnknownTargetError(LookupError):
    """There is nothing to simulate by that name; the message says what there is."""


def names() -> list[str]:
    """Return the names of all that can be simulated."""
    return [REFERENCE, *(_PREFIX + name for name in (*catalogue.SIMULATED, *catalogue.CATALOGUE))]


def load(name: str) -> None:
    """Make this process simulate the target from now on; a known-bad change cannot be undone.

    Raises:
        UnknownTargetError: There is none by that name.
    """
    if name not in names():
        near = difflib.get_close_matches(name, names())
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names())}"
        raise UnknownTargetError(f"nothing to simulate is called {name!r}; {hint}")
    if name != REFERENCE:
        importlib.import_module(f"isolane.fixtures.known_bad.{name.removeprefix(_PREFIX)}")
