"""What can keep a run from its verdict; each message is for the user and says what to do."""

from __future__ import annotations


class HarnessError(Exception):
    """The harness, or a service that it stands on, failed: the implementation was not judged (exit code 3)."""


class ImplementationNotStartedError(Exception):
    """The implementation's command could not be run, or ended before it took a record (exit code 4)."""


class NoTrafficError(Exception):
    """The implementation runs, but no canary came through: nothing can be judged (inconclusive, exit code 2)."""
