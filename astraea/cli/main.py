"""The commands of `astraea`, their exit codes and their error messages."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import click

import astraea
from astraea.cli import arguments as args
from astraea.cli import stored
from astraea.core.errors import InputError, PolicyError, extra
from astraea.core.files import publishing, write_atomically
from astraea.core.plugins import added, refuse_missing


class Commands(click.Group):
    """The commands of this package, and those of installed packages (`plugins.added`)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names."""
        return sorted([*self.commands, *added("astraea.commands")])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; `InputError` if the package that has it is not installed."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        refuse_missing("astraea.commands", cmd_name)
        found: click.Command | None = added("astraea.commands").get(cmd_name)
        return found


app: Final = Commands("astraea", help=(astraea.__doc__ or "").partition("\n")[0], no_args_is_help=False)
click.version_option(astraea.__version__, message="astraea %(version)s")(app)
for group in (stored.cache, stored.data):
    app.add_command(group)


@app.command(short_help="simulate a trace under a policy")
@args.simulations()
@click.option("--json", "for_program", is_flag=True, help="print the summary as JSON and nothing else")
@args.path("--out", "DIR", "folder for jobs.csv, tenants.csv, excluded_jobs.csv and provenance.json")
def simulate(for_program: bool, out: Path | None, policies: list[str], nodes: list[int], gpus_per_node: int,
             seeds: list[int], param: args.Values, estimator: str | None, estimate_error: float | str | None,
             **reading: Any) -> None:  # fmt: skip
    """Simulate a trace on a cluster under a policy; print a summary, and write tables with --out."""
    from astraea.cli.tables import run_summary, summary_text, write_tables
    from astraea.cluster.cluster import Cluster
    from astraea.cluster.observed import observed
    from astraea.cluster.simulate import simulate as run_one
    from astraea.traces.named import named_trace

    with nullcontext() if out is None else publishing(out) as folder:
        if policies == [args.OBSERVED]:
            if given := args.parameters(param, estimator, estimate_error):
                raise InputError(f"--policy {args.OBSERVED} has no parameters, got {', '.join(given)}")
            trace = named_trace(**reading)
            result = observed(trace, Cluster(nodes[0], gpus_per_node))
        else:
            (run,) = args.runs(policies, nodes, gpus_per_node, seeds, param, estimator, estimate_error, **reading)
            trace = run.trace
            result = run_one(trace, run.cluster, run.policy, run.seed, settings=run.settings)
        if folder is not None:
            write_tables(result, trace, folder)
    figures = run_summary(result, trace)
    print(json.dumps(figures, indent=2, allow_nan=False) if for_program else summary_text(figures, result, trace))


@app.command(short_help="simulate a grid of runs and make a table of it")
@args.simulations(several=True)
@args.parallel
@args.cache
@args.path("--out", "FILE.csv", "file for the table (default: print it)")
def sweep(cache: Path | None, out: Path | None, **wanted: Any) -> None:
    """Simulate every combination of policies, parameters, cluster sizes and seeds; the table has one row per run."""
    from astraea.experiments.grid import grid_table

    args.refuse_no_file(out)
    runs = args.runs(**wanted)
    table = grid_table(runs, cache=cache).to_csv(index=False, lineterminator="\n")
    if out is None:
        print(table, end="")
    else:
        write_atomically(out, table)
        print(f"{len(runs)} runs in {out}")


@app.command(short_help="recommend a lease term for a trace and a cluster")
@args.simulations()
@click.option("--terms", type=args.listed(args.whole_number), metavar="S,...",
              help="lease terms to try [s] (default: 60 to 3600)")  # fmt: skip
@args.path("--overheads", "FILE", "JSON with the overheads of your job, as measure_overheads.py writes it")
@args.parallel
@args.cache
def lease_term(terms: list[int] | None, overheads: Path | None, cache: Path | None, param: args.Values, **wanted: Any
               ) -> None:  # fmt: skip
    """Try several lease terms and recommend the shortest whose average JCT is within 2 % of the best."""
    from astraea.experiments.lease_term import TERMS, select_lease_term

    if "lease_term" in dict(param):
        raise InputError("--param lease_term: give the lease terms to try with --terms")
    origin = "not measured (see --overheads)"
    if overheads is not None:
        measured = args.measured_overheads(overheads)
        param += tuple((name, [seconds]) for name, seconds in measured.items())
        # in a shorter lease no job makes progress
        if not (terms := terms or [term for term in TERMS if term > sum(measured.values())]):
            raise InputError(f"{overheads}: checkpoint and restart take {TERMS[-1]} s or more; give longer --terms")
        origin = f"from {overheads}"
    (run,) = args.runs(param=param, **wanted)
    choice = select_lease_term(run, terms or TERMS, cache=cache)
    print(f"{'lease term [s]':>14}  {'average JCT [s]':>15}  {'overhead [%]':>12}  {'sharing loss [%]':>16}")
    for term, jct, overhead, loss in choice.table.to_numpy(dtype=float):
        print(f"{term:>14g}  {jct:>15.1f}  {100 * overhead:>12.2f}  {100 * loss:>16.2f}")
    paid = run.settings
    print(f"\na checkpoint takes {paid.checkpoint_overhead:g} s, a restart {paid.restart_overhead:g} s, {origin}")
    print(choice.reason)


@app.command(short_help="rank every policy on your logs, with intervals")
@args.logs
@click.option("--nodes", type=args.whole_number, metavar="N",
              help="number of machines (default: as many as the jobs keep busy)")  # fmt: skip
@click.option("--gpus-per-node", type=args.whole_number, default="8", metavar="N", help="GPUs per machine (default 8)")
@click.option("--policy", "own", multiple=True, metavar="FILE.py:NAME",
              help="a policy of your own, in addition to those of the package; may be repeated")  # fmt: skip
@click.option("--seeds", type=args.first_seeds, default="1", metavar="N", help="number of synthetic traces (default 1)")
@args.parallel
@args.cache
@args.path("--out", "FILE.csv", "file for the table of all logs")
def leaderboard(sources: tuple[str, ...], nodes: int | None, gpus_per_node: int, own: tuple[str, ...],
                seeds: list[int], cache: Path | None, out: Path | None, **reading: Any) -> None:  # fmt: skip
    """Rank every policy on logs by fairness and speed, with 95 % intervals over weeks or over seeds.

    Jobs are submitted in rounds of 10 s. A policy that needs running times learns them from the log's past. A policy
    that cannot run is listed with the reason.
    """
    import pandas as pd

    from astraea.cli.tables import standings_text
    from astraea.cluster.cluster import Cluster
    from astraea.cluster.policies import all_policies, named_policy
    from astraea.cluster.settings import Settings
    from astraea.experiments.leaderboard import contest, standings
    from astraea.traces.describe import suitable_nodes
    from astraea.traces.named import named_trace
    from astraea.traces.synthetic import SYNTHETIC

    args.refuse_no_file(out)
    with extra("learn"):
        import scipy  # noqa: F401 (the intervals need it, after all simulations)
    policies = dict(all_policies())
    for policy in (named_policy(name, Path()) for name in own):
        if policies.setdefault(policy.name, policy) is not policy:
            raise InputError(f"--policy: the name {policy.name!r} is taken by another policy")
    tables = []
    for source in sources:
        traces = [named_trace(source, **reading, seed=seed) for seed in (seeds if source in SYNTHETIC else [0])]
        busy = suitable_nodes(traces[0], gpus_per_node) if nodes is None else nodes
        cluster = Cluster(busy, gpus_per_node)
        in_rounds = [trace.in_rounds(Settings().interval) for trace in traces]
        table = standings(*contest(policies, in_rounds, cluster), cache, progress=True)
        print(standings_text(traces[0].name, sum(map(len, traces)), cluster, table), end="\n\n")
        tables.append(table.assign(trace=traces[0].name, nodes=busy, gpus_per_node=gpus_per_node))
    if out is not None:
        write_atomically(out, pd.concat(tables).to_csv(index=False, lineterminator="\n"))


@app.command(short_help="show statistics of a trace")
@args.trace
def describe(**reading: Any) -> None:
    """Report what was read from a trace, what was excluded and why, and its statistics."""
    from astraea.traces.describe import describe_text
    from astraea.traces.named import named_trace

    print(describe_text(named_trace(**reading)), end="")


@app.command(short_help="list schedulers and their parameters")
@click.option("--json", "for_program", is_flag=True, help="print JSON")
def policies(for_program: bool) -> None:
    """List the schedulers, then their parameters, and the settings of a simulation."""
    from astraea.cluster.policies import all_policies
    from astraea.cluster.settings import Settings

    listed: dict[str, dict[str, Any]] = {
        name: {
            "about": policy.about,
            "paper": policy.paper,
            "preempts": policy.preempts,
            "needs_running_times": policy.needs_estimates,
            "sees_tenants": policy.sees_tenants,
            "parameters": {k: {"default": v, "meaning": policy.help[k]} for k, v in policy.as_text.items()},
        }
        for name, policy in all_policies().items()
    }
    # the docstring of `Settings` describes each setting
    said = re.findall(r"^ *(\w+) : \w+\n(.+?)\.$", Settings.__doc__ or "", re.M | re.S)
    meanings = {name: " ".join(meaning.split()) for name, meaning in said}
    settings = {f.name: {"default": f.default, "meaning": meanings[f.name]} for f in fields(Settings)}
    if for_program:
        print(json.dumps({"policies": listed, "settings": settings}, indent=2))
        return
    properties = ("preempts", "needs_running_times", "sees_tenants")
    rows = [("name", "paper", *properties)]
    rows += [
        (name, about["paper"], *("yes" if about[key] else "no" for key in properties)) for name, about in listed.items()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip())
    print()
    tables = {f"{name}: {about['about']}": about["parameters"] for name, about in listed.items()}
    for heading, table in (tables | {"settings of every simulation, also given with --param:": settings}).items():
        print(heading)
        for name, about in table.items():
            usual = about["default"]
            shown = str(usual).lower() if isinstance(usual, (bool, str)) else format(usual, "g")
            print(f"    {name:<20} {shown:>12}  {about['meaning']}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of `astraea` and return its exit code (see `run`)."""
    return run(app, argv)


def run(command: click.Command, argv: Sequence[str] | None = None) -> int:
    """Run a command with these arguments, or those of the process, and return its exit code.

    The code is 0, or what the command returns, or 2 after bad input, or 130 after Ctrl-C. An error is one sentence on
    the standard error stream.
    """
    status = 2
    try:
        with command.make_context(command.name, list(sys.argv[1:] if argv is None else argv)) as context:
            code = command.invoke(context)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Exit as end:  # after --help and --version
        return end.exit_code
    except click.UsageError as error:
        place = command.name if error.ctx is None else error.ctx.command_path
        sentence = f"{error.format_message().rstrip('.')} (see: {place} --help)"
    except KeyboardInterrupt:
        status, sentence = 130, "interrupted; no file was left half-written"
    except (InputError, PolicyError) as error:
        sentence = str(error)
    except BrokenPipeError:  # the reader of our output has closed it, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        sentence = "not enough memory; try a smaller trace or fewer jobs at a time"
    except OSError as error:
        sentence = f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error}"
    print(f"{command.name}: {' '.join(sentence.splitlines())}", file=sys.stderr)
    return status
