"""`astraea data`: real workloads from their public homes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from astraea.traces.download import RAW, fetch, names
from astraea.traces.sources import SOURCES


def add(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("data", help="download real workloads", description=run_fetch.__doc__)
    kinds = parser.add_subparsers(metavar="fetch|list", required=True)
    parser = kinds.add_parser("fetch", help="download", description=run_fetch.__doc__)
    parser.add_argument("name", nargs="*", metavar="NAME", help="all small ones if none is named")
    parser.add_argument("--folder", type=Path, default=RAW, metavar="DIR", help=f"default {RAW}")
    parser.set_defaults(run=run_fetch)
    parser = kinds.add_parser("list", help="what can be downloaded", description=run_list.__doc__)
    parser.set_defaults(run=run_list)


def run_fetch(arguments: argparse.Namespace) -> int:
    """Download workloads, check them and unpack them."""
    for name in arguments.name or names(small=True):
        print(fetch(name, arguments.folder))
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    """List the workloads that can be downloaded."""
    for name in names():
        size = SOURCES[name].size
        print(f"{name:<20} {SOURCES[name].title}{f' ({size / 1e9:.1f} GB)' if size else ''}")
    return 0
