"""What a simulated schedule can come to that it should not."""

from __future__ import annotations


class Failure(Exception):  # noqa: N818 - named for the fact
    """A schedule broke a rule.

    Attributes:
        rule: The requirement that it broke, or the name of what no program with threads may do.
        sentence: What was seen.
        details: Lines for people, such as every task's stack.
    """

    def __init__(self, rule: str, sentence: str, details: tuple[str, ...] = ()) -> None:
        """Say which rule, and what was seen."""
        super().__init__(f"{rule}: {sentence}")
        self.rule = rule
        self.sentence = sentence
        self.details = details


DEADLOCK = "deadlock"
"""Tasks wait for each other, or nothing will ever happen again."""

LIVELOCK = "livelock"
"""Tasks are busy for ever while no time passes."""

HELD = "lock held while blocking"
"""A task sleeps, or waits for the outside world, with a lock in its hands (design decision 1)."""

LOCKSET = "guarded attribute touched without its lock"
"""What a class says that its lock guards was touched by a task that did not hold the lock."""

CRASH = "crash"
"""A thread ended with an exception."""
