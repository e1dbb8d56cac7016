"""`astraea describe`, `data` and `policies`: what there is to simulate."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from astraea.cli import arguments as args


@click.command(cls=args.Command, short_help="what a trace is like")
@args.trace
def describe(**reading: Any) -> None:
    """Tell what was read from a trace, what was set aside and why, and its statistics."""
    from astraea.traces.describe import describe_text
    from astraea.traces.named import named_trace

    print(describe_text(named_trace(**reading)), end="")


@click.group(no_args_is_help=False, short_help="download real workloads")
def data() -> None:
    """Download workloads, or list what can be downloaded."""


@data.command(cls=args.Command, short_help="download")
@click.argument("names", nargs=-1, metavar="[NAME]...", help="all small ones if none is named")
@args.path("--folder", "DIR", "default {traces.download:RAW}")
def fetch(names: tuple[str, ...], folder: Path | None) -> None:
    """Download workloads, check them and unpack them."""
    from astraea.traces import download

    small = [name for name, source in download.SOURCES.items() if not source.size]
    for name in names or small:
        print(download.fetch(name, folder or download.RAW))


@data.command("list", cls=args.Command, short_help="what can be downloaded")
def list_() -> None:
    """List the workloads that can be downloaded."""
    from astraea.traces.download import SOURCES

    for name, source in SOURCES.items():
        print(f"{name:<20} {source.title}{f' ({source.size / 1e9:.1f} GB)' if source.size else ''}")


@click.command(cls=args.Command, short_help="schedulers and their parameters")
@click.option("--json", "for_program", is_flag=True, help="for a program")
def policies(for_program: bool) -> None:
    """List the schedulers with source and parameters, and the settings of a simulation."""
    from astraea.cluster.policies import POLICIES
    from astraea.cluster.settings import Settings

    listed: dict[str, dict[str, Any]] = {
        name: {
            "source": policy.source,
            "parameters": {k: {"default": v, "meaning": policy.help[k]} for k, v in policy.as_text.items()},
        }
        for name, policy in POLICIES.items()
    }
    # the docstring of `Settings` says what each of them is
    meanings = dict(re.findall(r"^ *(\w+) : \w+\n +(.+)\.$", Settings.__doc__ or "", re.M))
    settings = {f.name: {"default": f.default, "meaning": meanings[f.name]} for f in fields(Settings)}
    if for_program:
        print(json.dumps({"policies": listed, "settings": settings}, indent=2))
        return
    for name, about in listed.items():
        print(f"{name}: {about['source']}")
        _print_parameters(about["parameters"])
    print("settings of every simulation, also given with --param:")
    _print_parameters(settings)


def _print_parameters(table: dict[str, Any]) -> None:
    for name, about in table.items():
        default = str(about["default"]).lower() if isinstance(about["default"], bool) else about["default"]
        print(f"    {name:<20} {default if isinstance(default, str) else format(default, 'g'):>12}  {about['meaning']}")
