"""The commands of `astraea live`: the coordinator of a Slurm partition, its dry run, its state and explanations."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from astraea.cli import arguments as args

if TYPE_CHECKING:
    from astraea_ops.live.config import Config

_config = args.path("--config", "FILE", "live.toml: partition, state, policy ... (see ops/docs/live/coordinator.md)")


def _read(config: Path | None, context: click.Context | None = None) -> Config:
    from astraea_ops.live.config import read_config

    if config is None:
        raise click.UsageError("Missing option '--config'", context)
    return read_config(config)


@click.group(invoke_without_command=True, no_args_is_help=False,
             short_help="grant leases on a real Slurm, by any policy")  # fmt: skip
@_config
@click.option("--dry-run", is_flag=True, help="print what the next round would do, and why; change nothing")
@click.pass_context
def live(context: click.Context, config: Path | None, dry_run: bool) -> None:
    """Grant leases to the jobs of a Slurm partition, until SIGTERM or Ctrl-C."""
    if context.invoked_subcommand is not None:
        if dry_run:
            raise click.UsageError("--dry-run cannot be combined with a command", context)
        context.default_map = {context.invoked_subcommand: {"config": config}}
        return
    read = _read(config, context)
    from astraea_ops.live import coordinator

    if dry_run:
        print("\n".join(coordinator.dry_run(read) or ["nothing to do"]))
    else:
        coordinator.serve(read)


@live.command("check", short_help="check what Slurm lacks for the coordinator")
@_config
def check_(config: Path | None) -> int:
    """Check that Slurm's settings, the partition and this user's rights are what the coordinator needs.

    Each of them gets a line: ok, warning or missing. The exit code is 1 if something is missing.
    """
    from astraea_ops.live.check import MISSING, check

    found = check(_read(config))
    print("\n".join(map(str, found)))
    return int(any(finding.state == MISSING for finding in found))


@live.command("status", short_help="show who holds what, who waits and whose lease ends next")
@_config
@click.option("--json", "for_program", is_flag=True, help="print JSON")
@click.option("--prometheus", is_flag=True, help="print metrics for the textfile collector of Prometheus")
def status_(config: Path | None, for_program: bool, prometheus: bool) -> None:
    """Show tenants, leases and waiting jobs from the coordinator's state; in a terminal refresh until Ctrl-C."""
    from astraea_ops.live.status import as_prometheus, as_record, as_text, status

    if for_program and prometheus:
        raise click.UsageError("--json and --prometheus cannot be combined")
    read = _read(config)
    found = status(read)
    if for_program:
        print(json.dumps(as_record(found), indent=2, allow_nan=False))
    elif prometheus:
        print(as_prometheus(found), end="")
    elif not sys.stdout.isatty():
        print(as_text(found))
    else:
        try:
            while True:
                room = shutil.get_terminal_size().lines - len(found.tenants) - 22
                click.clear()
                print(as_text(found, max(5, room)), flush=True)
                time.sleep(read.interval)
                found = status(read)
        except KeyboardInterrupt:
            print()


@live.command("explain", short_help="explain why a job waits and when it can expect a lease")
@click.argument("job", metavar="JOBID")
@_config
@click.option("--json", "for_program", is_flag=True, help="print JSON")
def explain_(job: str, config: Path | None, for_program: bool) -> None:
    """Explain in five lines why a job waits or runs, what it is owed, who is ahead of it, and when it gets a lease."""
    from astraea_ops.live.explain import explain
    from astraea_ops.live.five_lines import as_text
    from astraea_ops.live.status import as_record

    found = explain(_read(config), job)
    print(json.dumps(as_record(found), indent=2, allow_nan=False) if for_program else as_text(found))
