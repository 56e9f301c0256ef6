"""The `isolane` command: subcommands are found by module, failures become one line and an exit code."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from isolane.conformance import commands
from isolane.conformance.errors import HarnessError, ImplementationNotStartedError, NoTrafficError
from isolane.conformance.history_files import HistoryError
from isolane.conformance.verdict import ExitCode
from isolane.fixtures.errors import FixtureError
from isolane.fixtures.implementations.descriptor import DescriptorError

_EXIT_CODES: tuple[tuple[type[Exception], ExitCode], ...] = (
    (DescriptorError, ExitCode.WRONG_USAGE),
    (ImplementationNotStartedError, ExitCode.WRONG_USAGE),
    (HistoryError, ExitCode.WRONG_USAGE),
    (NoTrafficError, ExitCode.INCONCLUSIVE),
    (FixtureError, ExitCode.HARNESS_FAILED),
    (HarnessError, ExitCode.HARNESS_FAILED),
    (FileExistsError, ExitCode.WRONG_USAGE),
    (FileNotFoundError, ExitCode.WRONG_USAGE),
    (IsADirectoryError, ExitCode.WRONG_USAGE),
    (NotADirectoryError, ExitCode.WRONG_USAGE),
    (PermissionError, ExitCode.WRONG_USAGE),
    (Exception, ExitCode.HARNESS_FAILED),
)
"""What ends a command, and how; the first that fits."""

_FOR_USERS = (FixtureError, HarnessError, HistoryError, ImplementationNotStartedError, NoTrafficError)
"""What says for itself what is wrong."""


class _Commands(click.Group):
    """Loads a subcommand's module when it is asked for, so that `explain` does not wait for Kafka's client."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{commands.__name__}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="isolane")
def isolane() -> None:
    """Judge multi-tenant Kafka to Elasticsearch delivery: isolation, loss, memory.

    \b
    Exit codes: 0 conforms (at this depth), 1 violates, 2 inconclusive or partial,
    3 the harness or a service failed, 4 wrong usage or nothing run.
    """


def run(arguments: Sequence[str]) -> int:
    """Run the command line; the exit code. Messages go to standard error."""
    try:
        result = isolane.main(list(arguments), prog_name="isolane", standalone_mode=False)
    except click.UsageError as error:
        error.show()
        return ExitCode.WRONG_USAGE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("isolane: broken off", err=True)
        return 130
    except SystemExit:  # how click and rich end when nobody reads the output any more, with the code of a violation
        return 141
    except Exception as error:  # noqa: BLE001 - Python's own exit code for what nobody caught, 1, says "violates"
        click.echo(f"isolane: {_said(error)}", err=True)
        return next(code for kind, code in _EXIT_CODES if isinstance(error, kind))
    return result if isinstance(result, int) else ExitCode.CONFORMS


def _said(error: Exception) -> str:
    """Return a failure in one line; of what nobody thought of, also where it happened."""
    if isinstance(error, _FOR_USERS):
        return str(error)
    if isinstance(error, OSError):
        return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None)
    place = traceback.extract_tb(error.__traceback__)[-1]
    kind = type(error).__name__
    return f"a fault of Isolane's own: {kind}: {error} ({Path(place.filename).name}, line {place.lineno})"


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(sys.argv[1:]))
