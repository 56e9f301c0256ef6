"""Mutants of the reference's pure parts: each is changed in one place, and its unit tests must notice.

The changes are cosmic-ray's. Its runner starts a process for each mutant; here one process imports what all have in
common and forks, so that a mutant costs what its tests cost. They run with the changed source in place of the module's
own, which is not touched.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.util
import io
import os
import signal
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).parents[2]
_TESTS = ROOT / "conformance" / "selftest" / "reference"
_OPTIONS = ("-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={ROOT}")

PURE = {
    "offsets": ("test_offsets.py",),
    "limiter": (
        "test_limiter.py",
        *("test_dispatcher.py", "test_dispatcher_doubt.py", "test_dispatcher_pauses.py"),
        *("test_dispatcher_renewal.py", "test_dispatcher_sight.py"),
    ),
    "allowance": ("test_allowance.py",),
    "outcome": ("test_outcome.py",),
}
"""The modules of the reference that decide without threads, clock or I/O, and the unit tests of each."""

OPERATORS = (
    *(
        f"ReplaceComparisonOperator_{change}"
        for change in (
            *("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_GtE", "GtE_Lt", "Gt_LtE", "LtE_Gt"),
            *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"),
        )
    ),
    *(
        f"ReplaceBinaryOperator_{change}"
        for change in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "BitAnd_BitOr", "Mod_Mul")
    ),
    *("ReplaceAndWithOr", "ReplaceOrWithAnd", "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue"),
    *("NumberReplacer", "ZeroIterationForLoop", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
    "ReplaceUnaryOperator_Delete_Not",
)
"""Changes that make other sense of the code. Those that only annotations would feel are left out."""

EXAMPLES = 30
"""Examples of each property that is tried on a mutant: always the same ones, so that a survivor is one again."""

PATIENCE = 20
"""Seconds of processor time after which a mutant counts as noticed: its tests go round in circles."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module of the reference, changed in one place.

    Attributes:
        module: The module's name, without its package's.
        operator: What was changed, in cosmic-ray's words.
        line: Where, by the line's number.
        before: The first line that is another one now, as it was.
        after: As it is.
        source: The whole module, changed.
    """

    module: str
    operator: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        """Return the change for people."""
        return f"{self.module}.py:{self.line} {self.operator}: {self.before.strip()}  ->  {self.after.strip()}"


def mutants(module: str) -> Iterator[Mutant]:
    """Yield every mutant of a module that differs from it in more than text."""
    source = (ROOT / "reference" / f"{module}.py").read_text()
    seen = {ast.dump(ast.parse(source))}
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        number = 0
        while (changed := mutate_code(source, operator, number)) is not None:
            number += 1
            tree = ast.dump(ast.parse(changed))
            if tree not in seen:
                seen.add(tree)
                yield _mutant(module, name, source, changed)


def unchanged(module: str) -> Mutant:
    """Return a module that nothing was changed in, to hold its tests to."""
    return Mutant(module, "none", 0, "", "", (ROOT / "reference" / f"{module}.py").read_text())


def survives(mutant: Mutant) -> bool:
    """Return whether the module's unit tests pass with the mutant in its place; runs them in a process of its own."""
    child = os.fork()
    if not child:
        os._exit(_tests_pass(mutant))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == pytest.ExitCode.OK


def warm_up() -> None:
    """Import what the tests of every mutant have in common, once for all: pytest with its plugins, and libraries."""
    tests = dict.fromkeys(str(_TESTS / name) for names in PURE.values() for name in names)
    with redirect_stdout(io.StringIO()):
        pytest.main([*_OPTIONS, "--collect-only", *tests])


def _mutant(module: str, operator: str, source: str, changed: str) -> Mutant:
    lines = zip(source.splitlines(), changed.splitlines(), strict=False)
    line, before, after = next((number, old, new) for number, (old, new) in enumerate(lines, start=1) if old != new)
    return Mutant(module, operator, line, before, after, changed)


def _tests_pass(mutant: Mutant) -> int:
    """Run a mutant's tests in this process, which is theirs alone; pytest's exit code."""
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for the rest of this process' short life
    for name in [name for name in sys.modules if name.startswith(("isolane.", "conformance."))]:
        del sys.modules[name]  # they, and tests, which pytest names by their folder, hold the module as it is
    sys.meta_path.insert(0, _Instead(mutant))
    settings.register_profile(
        "mutants",
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),  # that there is a failure is all that is asked
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),  # a busy machine would pass for tests that notice
    )
    settings.load_profile("mutants")
    return int(pytest.main([*_OPTIONS, *(str(_TESTS / name) for name in PURE[mutant.module])], plugins=[_Order()]))


class _Order:
    """Puts state machines last, which take longest: most mutants are noticed before."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: item.name == "runTest")


class _Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads a mutant where its module is asked for."""

    def __init__(self, mutant: Mutant) -> None:
        self._name, self._source = f"isolane.reference.{mutant.module}", mutant.source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return importlib.util.spec_from_loader(fullname, self) if fullname == self._name else None

    def exec_module(self, module: types.ModuleType) -> None:
        exec(compile(self._source, f"{self._name} (mutant)", "exec"), module.__dict__)  # noqa: S102 - the purpose
