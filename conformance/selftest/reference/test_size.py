"""The reference stays small enough to be read in an hour, and docs/reference.md says truly how large it is."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

from isolane.reference import program

FOLDER = Path(program.__file__).parent
DOCUMENT = Path(__file__).parents[3] / "docs" / "reference.md"
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(path: Path) -> int:
    """Return how many lines of a file have code: not blank, no comment, no docstring."""
    text = path.read_text()
    documentation: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documentation.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - documentation)


def parts() -> dict[str, tuple[list[str], int]]:
    """Return the parts in the table of sizes: the modules of each, and how many lines of code it says."""
    rows = re.findall(r"^\| ([a-z ,]+) \| ((?:`\w+`(?:, )?)+) \| ([\d,]+) \|$", DOCUMENT.read_text(), re.MULTILINE)
    return {part: (re.findall(r"`(\w+)`", modules), int(lines.replace(",", ""))) for part, modules, lines in rows}


def test_every_module_belongs_to_one_part() -> None:
    """The table of sizes leaves nothing out, and counts nothing twice."""
    listed = sorted(module for modules, _ in parts().values() for module in modules)
    assert listed == sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def test_the_sizes_are_true() -> None:
    """Each part has at most the lines of code that the table says, and not a hundred fewer."""
    for part, (modules, said) in parts().items():
        lines = sum(code_lines(FOLDER / f"{module}.py") for module in modules)
        assert said - 100 < lines <= said, f"{part}: {lines}"


def test_the_pipeline_itself_is_small() -> None:
    """What decides and moves is at most 1,500 lines of code."""
    assert parts()["the pipeline"][1] <= 1500
