"""Which worker of pytest-xdist lives which scenario. Imported only where pytest-xdist is there."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from xdist.scheduler import LoadScopeScheduling


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist ships no types
    """Gives all tests of a group to one worker.

    `--dist loadgroup` of pytest-xdist 3.8 would write the group of a marked test into its name, which pytest 9.2 does
    not take from it: tests were spread over all workers. The controlling process knows the groups as well.
    """

    def __init__(self, config: pytest.Config, groups: Mapping[str, str]) -> None:
        """Take the group of each test by the id of its parameters; a test without one is a group of its own."""
        super().__init__(config)
        self._groups = groups

    def _split_scope(self, nodeid: str) -> str:
        return self._groups.get(nodeid.rpartition("[")[2].removesuffix("]"), nodeid)
