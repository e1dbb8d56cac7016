"""The commands `cache` and `data`: results that are kept, and workloads that are downloaded."""

from __future__ import annotations

from pathlib import Path

import click

from astraea.cli import arguments as args
from astraea.core.errors import extra
from astraea.core.wording import counted


@click.group(invoke_without_command=True, no_args_is_help=False, short_help="show or clear kept results")
@click.pass_context
def cache(context: click.Context) -> None:
    """Show where results are kept, their number and their size."""
    from astraea.experiments.cache import CACHE, size

    if context.invoked_subcommand is None:
        results, of_all = size(CACHE)
        print(f"{CACHE}: {counted(results, 'result')}, {of_all / 1e6:,.1f} MB")


@cache.command(short_help="remove all kept results")
def clear() -> None:
    """Remove all results that are kept; they are computed again when they are asked for."""
    from astraea.experiments.cache import CACHE, trim

    print(f"{CACHE}: removed {counted(trim(CACHE, 0), 'result')}")


@click.group(no_args_is_help=False, short_help="download real workloads")
def data() -> None:
    """Download workloads, or list what can be downloaded."""


@data.command(short_help="download workloads")
@click.argument("names", nargs=-1, metavar="[NAME]...", help="workloads (default: all small ones)")
@args.path("--folder", "DIR", "folder to download to (default data/raw)")
def fetch(names: tuple[str, ...], folder: Path | None) -> None:
    """Download workloads, check them and unpack them."""
    from astraea.traces.sources import RAW, SOURCES

    with extra("data"):
        from astraea.traces.download import fetch as download

    for name in names or [name for name, source in SOURCES.items() if not (source.size or source.untried)]:
        print(download(name, folder or RAW))


@data.command("list", short_help="list what can be downloaded")
def list_() -> None:
    """List the workloads that can be downloaded."""
    from astraea.traces.sources import SOURCES

    for name, source in SOURCES.items():
        size = f"{source.size / 1e9:.2g} GB" if source.size else ""
        notes = "; ".join(filter(None, [size, "untested" if source.untried else "", source.by_hand]))
        print(f"{name:<20} {source.title}{f' ({notes})' if notes else ''}")
