"""The commands of `astraea`: simulate, sweep, leaderboard, lease-term, describe, audit, policies, data, live."""

from __future__ import annotations

import functools
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
from astraea.cli import settings
from astraea.cli.leaderboard import leaderboard
from astraea.cli.live import live
from astraea.core.errors import InputError, PolicyError, extra
from astraea.core.files import publishing, write_atomically
from astraea.core.text import docstring

BAD_INPUT: Final = 2
INTERRUPTED: Final = 130

app: Final = click.Group("astraea", help=docstring(astraea).partition("\n")[0], no_args_is_help=False)
click.version_option(astraea.__version__, message="astraea %(version)s")(app)
app.add_command(live)
app.add_command(leaderboard)


@app.command(cls=args.Command, short_help="run a trace under a policy")
@args.simulations()
@click.option("--json", "for_program", is_flag=True, help="print the summary as JSON and nothing else")
@args.path("--out", "DIR", "write jobs.csv, tenants.csv, excluded_jobs.csv, provenance.json there")
def simulate(wanted: args.Simulations, for_program: bool, out: Path | None) -> None:
    """Run a trace on a cluster under a policy; print a summary, and write the tables if asked to."""
    from astraea.cli.tables import run_summary, summary_text, write_tables
    from astraea.cluster.simulation import simulated

    with nullcontext() if out is None else publishing(out) as folder:
        if wanted.policies == [args.OBSERVED]:
            trace, result = wanted.as_it_was()
        else:
            (run,) = wanted.runs()
            trace = run.trace
            result = simulated(trace, run.cluster, run.policy, run.seed, run.settings)
        if folder is not None:
            write_tables(result, trace, folder)
    figures = run_summary(result, trace)
    print(json.dumps(figures, indent=2, allow_nan=False) if for_program else summary_text(figures, result, trace))


@app.command(cls=args.Command, short_help="run a grid and make a table of it")
@args.simulations(several=True)
@args.parallel
@args.cache
@args.path("--out", "FILE.csv", "the table; printed if not given")
def sweep(wanted: args.Simulations, cache: Path | None, out: Path | None) -> None:
    """Run every combination of policies, parameters, cluster sizes and seeds; one row of the table per run."""
    from astraea.experiments.grid import grid_table

    args.refuse_no_file(out)
    runs = wanted.runs()
    table = grid_table(runs, cache=cache).to_csv(index=False, lineterminator="\n")
    if out is None:
        print(table, end="")
    else:
        write_atomically(out, table)
        print(f"{len(runs)} runs in {out}")


@app.command(cls=args.Command, short_help="recommend a lease term for a trace and a cluster")
@args.simulations()
@click.option("--terms", type=args.listed(args.whole_number), metavar="S,...",
              help="lease terms to try [s]; {astraea.experiments.lease_term:TERMS} if not given")  # fmt: skip
@args.path("--overheads", "FILE", "of a checkpoint and a restart, as docs/live/measure_overheads.py wrote them")
@args.parallel
@args.cache
def lease_term(wanted: args.Simulations, terms: list[int] | None, overheads: Path | None, cache: Path | None) -> None:
    """Try several lease terms and recommend the shortest whose average JCT is within 2 % of the best."""
    from astraea.experiments.lease_term import TERMS, select_lease_term

    if "lease_term" in wanted.parameters:
        raise InputError("--param lease_term: give the lease terms to try with --terms")
    origin = "not measured (see --overheads)"
    if overheads is not None:
        measured = args.measured_overheads(overheads)
        wanted.param += tuple((name, [seconds]) for name, seconds in measured.items())
        # in a shorter lease no job gets on
        if not (terms := terms or [term for term in TERMS if term > sum(measured.values())]):
            raise InputError(f"{overheads}: checkpoint and restart must take less than {TERMS[-1]} s, or give --terms")
        origin = f"from {overheads}"
    (run,) = wanted.runs()
    choice = select_lease_term(run, terms or TERMS, cache=cache)
    print(f"{'lease term [s]':>14}  {'average JCT [s]':>15}  {'overhead [%]':>12}  {'sharing loss [%]':>16}")
    for term, jct, overhead, loss in choice.table.to_numpy(dtype=float):
        print(f"{term:>14g}  {jct:>15.1f}  {100 * overhead:>12.2f}  {100 * loss:>16.2f}")
    paid = run.settings
    print(f"\na checkpoint takes {paid.checkpoint_overhead:g} s, a restart {paid.restart_overhead:g} s, {origin}")
    print(choice.reason)


@app.command(cls=args.Command, short_help="what a trace is like")
@args.trace
def describe(**reading: Any) -> None:
    """Tell what was read from a trace, what was set aside and why, and its statistics."""
    from astraea.traces.describe import describe_text
    from astraea.traces.named import named_trace

    print(describe_text(named_trace(**reading)), end="")


@app.command(cls=args.Command, short_help="who waited in a log, why, and what another scheduler would have done")
@args.trace
@settings.options
@click.option("--nodes", type=args.whole_number, metavar="N",
              help="machines; as many as the log shows in use if not given")  # fmt: skip
@click.option("--gpus-per-node", type=args.whole_number, metavar="N",
              help="[GPU]; as the log shows if --nodes is not given either, else 8")  # fmt: skip
@click.option("--scheduler", default="slurm", metavar="NAME", help="that the cluster has (see: astraea policies)")
@click.option("--param", type=lambda text: args.parameter(text, False), multiple=True, metavar="NAME=VALUE",
              help="of that scheduler; may be repeated")  # fmt: skip
@click.option("--what-if", type=args.listed(str.strip), metavar="NAME,...",
              help="other schedulers; {astraea.audit.audit:WHAT_IF} if not given")  # fmt: skip
@click.option("--anonymize", is_flag=True, help="letters for tenants, numbers for users and jobs")
@args.path("--compare", "FILE", "audit.json of an earlier audit: what changed since")
@args.path("--out", "DIR", "write index.html, tables, audit.json and audit.prom there", required=True)
def audit(nodes: int | None, gpus_per_node: int | None, scheduler: str, param: tuple[tuple[str, list[Any]], ...],
          what_if: list[str] | None, anonymize: bool, compare: Path | None, out: Path,
          slurm_conf: tuple[Path, ...], scontrol: tuple[Path, ...], sacctmgr: tuple[Path, ...],
          node_class: tuple[str, ...],
          **reading: Any) -> None:  # fmt: skip
    """Audit a cluster's log: who got what they were owed, who waited and why, and what would have been."""
    from astraea.audit.audit import WHAT_IF, anonymous, audit

    with extra("audit"):
        from astraea.audit.compare import changed, changes, figures, read_last
        from astraea.audit.page import short, write
        from astraea.audit.parts import section
        from astraea.audit.settings import plan_of, the_settings
    from astraea.audit.size import cluster_of
    from astraea.cluster.policies import get_policy
    from astraea.traces.named import named_trace
    from astraea.traces.slurm_words import GPU

    given = {name: values[0] for name, values in param}
    get_policy(scheduler)(**given)  # refused before a large log is read
    site = settings.site_of(slurm_conf, scontrol, sacctmgr, node_class, reading["weights"], reading["resource"])
    if nodes is not None and site.cluster is not None:
        raise InputError(f"--nodes: the settings of the cluster name {site.cluster} GPUs; leave --nodes out")
    others = [get_policy(name).name for name in what_if or WHAT_IF]
    last = None if compare is None else read_last(compare)
    with publishing(out) as folder:
        trace = named_trace(**reading)
        shares = "The shares are equal, as none were given (--weights)."
        if reading["weights"] is None and reading["tenant"] in (None, "account"):
            trace, shares = settings.with_shares(trace, site, shares)
        elif reading["weights"] is not None:
            shares = f"The shares are those of {'the file that was given' if anonymize else reading['weights'].name}."
        if reading["resource"] != GPU:
            shares += f" What this page calls a GPU is {reading['resource']} of the log (--resource)."
        shown = anonymous(trace) if anonymize else trace
        cluster, said = (site.cluster, []) if site.cluster else cluster_of(shown, nodes, gpus_per_node)
        plan = plan_of(site, trace, scheduler, given, cluster)
        found = audit(shown, cluster, plan.own, others, plan.rules)
        more = [section("The size of the cluster", {"lines": said})] if said else []
        more.append(the_settings(plan, anonymize))
        if last:
            more.append(changed(last, figures(found)))
        write(found, shares, folder, more)
    for line in [*short(found, shares), *said, *(changes(last, figures(found)) if last else [])]:
        print(f"- {line}")
    print(f"\nthe whole: {out / 'index.html'}")


@app.group(cls=args.Group, no_args_is_help=False, short_help="download real workloads")
def data() -> None:
    """Download workloads, or list what can be downloaded."""


@data.command(cls=args.Command, short_help="download")
@click.argument("names", nargs=-1, metavar="[NAME]...", help="all small ones if none is named")
@args.path("--folder", "DIR", "default {astraea.traces.sources:RAW}")
def fetch(names: tuple[str, ...], folder: Path | None) -> None:
    """Download workloads, check them and unpack them."""
    from astraea.traces.sources import RAW, SOURCES

    with extra("data"):
        from astraea.traces.download import fetch as download

    for name in names or [name for name, source in SOURCES.items() if not source.size]:
        print(download(name, folder or RAW))


@data.command("list", cls=args.Command, short_help="what can be downloaded")
def list_() -> None:
    """List the workloads that can be downloaded."""
    from astraea.traces.sources import SOURCES

    for name, source in SOURCES.items():
        print(f"{name:<20} {source.title}{f' ({source.size / 1e9:.1f} GB)' if source.size else ''}")


@app.command(cls=args.Command, short_help="schedulers and their parameters")
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
    said = re.findall(r"^ *(\w+) : \w+\n(.+?)\.$", docstring(Settings), re.M | re.S)
    meanings = {name: " ".join(meaning.split()) for name, meaning in said}
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of `astraea`, as `run`."""
    return run(app, argv)


def run(command: click.Command, argv: Sequence[str] | None = None) -> int:
    """Run a command with these arguments, or those of the process, and give its exit code.

    That is 0, or what the command returns, or 2 after bad input, or 130 after Ctrl-C; what went wrong stands on the
    standard error stream in one sentence.
    """
    stop = functools.partial(_stop, str(command.name))
    try:
        with command.make_context(command.name, list(sys.argv[1:] if argv is None else argv)) as context:
            code = command.invoke(context)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Exit as end:  # after --help and --version
        return end.exit_code
    except click.UsageError as error:
        place = command.name if error.ctx is None else error.ctx.command_path
        return stop(f"{error.format_message().rstrip('.')} (see: {place} --help)")
    except KeyboardInterrupt:
        return stop("interrupted; nothing was left half written", INTERRUPTED)
    except (InputError, PolicyError) as error:
        return stop(str(error))
    except BrokenPipeError:  # whoever read our output had enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return stop("not enough memory; try a smaller trace or fewer jobs at a time")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return stop(f"{place}{error.strerror or error}")


def _stop(program: str, sentence: str, code: int = BAD_INPUT) -> int:
    """Say what went wrong, on one line."""
    print(f"{program}: {' '.join(sentence.splitlines())}", file=sys.stderr)
    return code
