"""`astraea sweep` and `astraea lease-term`: grids of runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from astraea.cli import arguments as args
from astraea.core.errors import InputError
from astraea.core.files import write_atomically
from astraea.experiments.grid import grid, grid_table
from astraea.experiments.parallel import computing
from astraea.studies.ye2022.lease_term import TERMS, select_lease_term
from astraea.traces.named import SYNTHETIC


def add(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("sweep", help="run a grid and make a table of it", description=sweep.__doc__)
    args.add_trace(parser)
    parser.add_argument("--policies", type=args.words, default=["astraea"], metavar="NAME,...", help="default astraea")
    args.add_cluster(parser, several=True)
    args.add_parameters(parser, several=True)
    parser.add_argument("--seeds", type=args.whole_number, default=1, metavar="N", help="seeds 0 .. N-1, default 1")
    args.add_parallel(parser)
    _add_cache(parser)
    parser.add_argument("--out", type=Path, metavar="FILE.csv", help="the table; printed if not given")
    parser.set_defaults(run=sweep)

    parser = commands.add_parser(
        "lease-term", help="recommend a lease term for a trace and a cluster", description=lease_term.__doc__
    )
    args.add_trace(parser)
    parser.add_argument("--policy", default="astraea", metavar="NAME", help="a policy with leases (default astraea)")
    args.add_cluster(parser)
    args.add_parameters(parser)
    parser.add_argument(
        "--terms", type=_terms, default=list(TERMS), metavar="S,...",
        help=f"lease terms to try [s], default {','.join(map(str, TERMS))}",
    )  # fmt: skip
    parser.add_argument("--seed", type=args.whole_number, default=0, help="of a synthetic trace, placement and noise")
    args.add_parallel(parser)
    _add_cache(parser)
    parser.set_defaults(run=lease_term)


def sweep(arguments: argparse.Namespace) -> int:
    """Run every combination of policies, parameters, cluster sizes and seeds; one row of the table per run."""
    wanted = args.parameters(arguments, several=True)
    clusters = args.clusters(arguments)
    if arguments.seeds == 0:
        raise InputError("--seeds must be at least 1, got 0")
    grid([], clusters, arguments.policies, wanted)  # before a large trace is read
    if arguments.out is not None and (arguments.out.is_dir() or not arguments.out.absolute().parent.is_dir()):
        raise InputError(f"{arguments.out}: --out must be a file in a folder that exists")
    seeds = range(arguments.seeds)
    if arguments.trace in SYNTHETIC:
        runs = [r for s in seeds for r in grid([args.load(arguments, s)], clusters, arguments.policies, wanted, [s])]
    else:
        if len(seeds) > 1 and wanted.get("placement") != ["random"] and "noisy" not in wanted.get("estimator", ()):
            print("a recorded trace has no seed: only random placement differs between seeds", file=sys.stderr)
        runs = grid([args.load(arguments)], clusters, arguments.policies, wanted, seeds)
    table = grid_table(runs, **_options(arguments)).to_csv(index=False, lineterminator="\n")
    if arguments.out is None:
        print(table, end="")
    else:
        write_atomically(arguments.out, table)
        print(f"{len(runs)} runs in {arguments.out}")
    return 0


def lease_term(arguments: argparse.Namespace) -> int:
    """Try several lease terms and recommend the shortest whose average JCT is within 2 % of the best."""
    wanted = args.parameters(arguments)
    if "lease_term" in wanted:
        raise InputError("--param lease_term: give the lease terms to try with --terms")
    clusters = args.clusters(arguments)
    grid([], clusters, [arguments.policy], wanted)
    (run,) = grid([args.load(arguments, arguments.seed)], clusters, [arguments.policy], wanted, [arguments.seed])
    choice = select_lease_term(
        run.trace, run.cluster, run.policy, arguments.terms,
        seed=run.seed, settings=run.settings, **_options(arguments),
    )  # fmt: skip
    print(f"{'lease term [s]':>14}  {'average JCT [s]':>15}  {'overhead [%]':>12}  {'sharing loss [%]':>16}")
    for term, jct, overhead, loss in choice.table.iloc[:, :4].to_numpy(dtype=float):
        print(f"{term:>14g}  {jct:>15.1f}  {100 * overhead:>12.2f}  {100 * loss:>16.2f}")
    print(f"\n{choice.reason}")
    return 0


def _add_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where results are kept, default data/cache")


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Say where it is computed, and collect what `measured` wants to know; the progress bar is for people only."""
    computing(arguments.jobs, arguments.backend, arguments.scheduler)
    return {"cache": arguments.cache, "progress": sys.stderr.isatty()}


def _terms(text: str) -> list[float]:
    return [float(n) for n in args.whole_numbers(text)]
