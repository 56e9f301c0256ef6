"""`isolane init`: a commented descriptor and template to start from."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import click

from isolane.fixtures import implementations
from isolane.fixtures.implementations.descriptor import NAME

_DESCRIPTOR = "starter/descriptor.toml.txt"
_TEMPLATE = "starter/template.txt"


@click.command(name="init")
@click.argument("name", default="mine")
@click.option(
    "--dir", "folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Where to write."
)
def command(*, name: str, folder: Path) -> None:
    """Write NAME.toml, a descriptor with every field explained, and NAME.conf.j2, a template of a configuration.

    Nothing that is there is overwritten.
    """
    if not re.fullmatch(NAME, name):
        raise click.UsageError(
            f"NAME: {name!r}: allowed: lower-case letters a to z, digits, '.', '_' and '-'; first a letter or a digit"
        )
    starter = resources.files(implementations)
    files = {folder / f"{name}.toml": _DESCRIPTOR, folder / f"{name}.conf.j2": _TEMPLATE}
    for path in files:
        if path.exists():
            raise click.UsageError(f"{path} is there already; choose another name, or move it")
    folder.mkdir(parents=True, exist_ok=True)
    for path, source in files.items():
        path.write_text(starter.joinpath(source).read_text().replace("@NAME@", name))
        click.echo(f"wrote {path}")
    click.echo(f"Fill them in, then: isolane doctor {folder / f'{name}.toml'}")
