"""The command line: `astraea simulate | sweep | lease-term | describe | policies | data | figures | claims`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

import click

import astraea
from astraea.cli import commands
from astraea.core.errors import InputError, PolicyError

BAD_INPUT: Final = 2
INTERRUPTED: Final = 130

app: Final = click.Group(
    "astraea",
    help=(astraea.__doc__ or "").partition("\n")[0],
    no_args_is_help=False,
    commands=[
        commands.simulate, commands.sweep, commands.lease_term, commands.describe, commands.policies, commands.data,
        commands.figures, commands.claims,
    ],
)  # fmt: skip
click.version_option(astraea.__version__, message="astraea %(version)s")(app)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of `astraea`, as `run`."""
    return run(app, argv)


def run(command: click.Command, argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    command : click.Command
        Gives its exit code, or nothing for 0.
    argv : sequence of str, optional
        Arguments without the program's name; those of the process if not given.

    Returns
    -------
    int
        Exit code: 0, or 2 after bad input, or 130 after Ctrl-C; what went wrong stands on the standard error stream
        in one sentence.
    """
    try:
        with command.make_context(command.name, list(sys.argv[1:] if argv is None else argv)) as context:
            code = command.invoke(context)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Exit as end:  # after --help and --version
        return end.exit_code
    except click.UsageError as error:
        place = command.name if error.ctx is None else error.ctx.command_path
        return _stop(f"{error.format_message().rstrip('.')} (see: {place} --help)")
    except KeyboardInterrupt:
        return _stop("interrupted; nothing was left half written", INTERRUPTED)
    except (InputError, PolicyError) as error:
        return _stop(str(error))
    except BrokenPipeError:  # whoever read our output had enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _stop("not enough memory; try a smaller trace or fewer jobs at a time")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _stop(f"{place}{error.strerror or error}")


def _stop(sentence: str, code: int = BAD_INPUT) -> int:
    """Say what went wrong, on one line."""
    print(f"astraea: {' '.join(sentence.splitlines())}", file=sys.stderr)
    return code
