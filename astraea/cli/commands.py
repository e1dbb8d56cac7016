"""The commands of `astraea`, one module for each family."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import astraea
from astraea.cli import data, describe, experiments, gallery, simulate, verify
from astraea.cli.arguments import Parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read a command line; `run` of what comes back is the function of the command.

    Raises
    ------
    InputError
        If it cannot be understood.
    """
    parser = Parser(prog="astraea", description=astraea.__doc__)
    parser.add_argument("--version", action="version", version=f"astraea {astraea.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for family in (simulate, experiments, describe, data, gallery, verify):
        family.add(commands)
    return parser.parse_args(argv)
