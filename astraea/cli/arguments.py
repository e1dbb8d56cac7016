"""Arguments that several commands share, each described once, and the parsing of their text."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from astraea.core.errors import InputError, extra

if TYPE_CHECKING:  # imported where used, so that no command waits for what it does not need
    from astraea.experiments.run import Run

Handler = Callable[..., Any]

Values = tuple[tuple[str, list[Any]], ...]
"""Names and values from --param."""

OBSERVED: Final = "observed"
"""Name that stands for the log's own starts and ends where a policy is expected."""


DASK_TIMEOUT: Final = 8
"""Longest time that a Dask scheduler may take to answer [s]."""


def parameters(param: Values, estimator: str | None, estimate_error: float | str | None) -> dict[str, list[Any]]:
    """Return values of --param and of the settings that have their own option, by name."""
    own = {"estimator": estimator, "estimate_error": estimate_error}
    found: dict[str, list[Any]] = {}
    for name, values in (*param, *((name, [one]) for name, one in own.items() if one is not None)):
        if name in found:
            raise InputError(f"--param {name}: given twice")
        found[name] = values
    return found


def runs(
    policies: list[str], nodes: list[int], gpus_per_node: int, seeds: list[int], param: Values, estimator: str | None,
    estimate_error: float | str | None, **reading: Any,
) -> list[Run]:  # fmt: skip
    """Read the trace, or make one per seed, and combine it with all other arguments; refuse what cannot run."""
    from astraea.cluster.cluster import Cluster
    from astraea.experiments.grid import grid
    from astraea.traces.named import named_trace
    from astraea.traces.synthetic import SYNTHETIC

    given = parameters(param, estimator, estimate_error)
    if OBSERVED in policies:
        raise InputError(f"--policy {OBSERVED} (what the log recorded) is for the command simulate only")
    rest = [Cluster(n, gpus_per_node) for n in nodes], policies, given
    grid([], *rest)  # before a large trace is read
    if reading["source"] in SYNTHETIC:
        return [run for seed in seeds for run in grid([named_trace(**reading, seed=seed)], *rest, [seed])]
    is_random = given.get("placement") == ["random"] or "noisy" in given.get("estimator", ())
    if len(seeds) > 1 and not is_random:
        print("a recorded trace has no seed: only random placement differs between seeds", file=sys.stderr)
    return grid([named_trace(**reading)], *rest, seeds)


def together(*options: Callable[[Handler], Handler]) -> Callable[[Handler], Handler]:
    """Combine several arguments, in this order."""
    return lambda handler: functools.reduce(lambda made, option: option(made), reversed(options), handler)


def path(name: str, metavar: str, help: str, **more: Any) -> Callable[[Handler], Handler]:
    """Make an option for a file or a folder."""
    return click.option(name, type=click.Path(path_type=Path), metavar=metavar, help=help, **more)


_SOURCES: Final = (
    "a file, a folder, or one of venus, philly, helios-venus, helios-earth, helios-saturn, helios-uranus, "
    "philly-two-weeks, philly-vcs, w2, chrslo, itp, acme-seren, acme-kalos, supercloud, spot-gpu, kestrel"
)

reading = together(
    click.option("--format", metavar="NAME",
                 help="format of the file: tiresias-csv, helios, philly, gavel, swf, acme, supercloud, kestrel, "
                 "spot-gpu, slurm (with astraea-ops); detected from its content by default"),
    click.option("--time-unit", metavar="UNIT",
                 help="for tiresias-csv, if the header does not give it: ms, s, min"),
    path("--weights", "FILE", "tenants and their weights; for a Slurm log also the output of sshare -P -a"),
    click.option("--tenant", metavar="NAME",
                 help="field that names the tenant, for slurm: account, top-account, user, partition, qos; "
                 "for swf: group, user, queue, partition"),
    click.option("--columns", type=lambda text: named_columns(text), metavar="OURS=THEIRS,...",
                 help="for a CSV file, pairs such as demand=gpus; OURS is demand, job_id, tenant, submit_time, "
                 "duration, user, weight, state, queueing_delay, sensitivity, deadline, time_limit; "
                 "for the output of sacct -n, the value of its --format"),
    click.option("--resource", metavar="TRES",
                 help="resource of a Slurm log that counts as GPUs, such as cpu or gres/gpu:a100 (default gres/gpu)"),
    click.option("--strict", is_flag=True, help="stop at a row that cannot be read instead of excluding it"),
)  # fmt: skip
"""Options for reading a log: the arguments of `named_trace` besides the name."""

trace = together(click.argument("source", metavar="TRACE", help=_SOURCES), reading)
"""TRACE and the options for reading it: all arguments of `named_trace`."""

logs = together(click.argument("sources", metavar="LOG...", nargs=-1, required=True, help=_SOURCES), reading)


def _nodes(context: click.Context, option: click.Parameter, given: list[int] | None) -> list[int]:
    """Return the numbers of nodes; by default that of a named workload, whose nodes have 8 GPUs."""
    if given is not None:
        return given
    from astraea.traces.named import nodes_of

    known = nodes_of(context.params["source"])
    if known is None or context.params.get("gpus_per_node", 8) != 8:
        raise click.MissingParameter(ctx=context, param=option)
    return [known]


def simulations(*, several: bool = False) -> Callable[[Handler], Handler]:
    """Add arguments for trace, cluster, policy, parameters and seed: those of `runs`."""
    more = ",..." if several else ""
    policy, seed = ("--policies", "--seeds") if several else ("--policy", "--seed")
    return together(
        trace,
        click.option(policy, "policies", type=listed(str.strip, several), default="astraea", metavar=f"NAME{more}",
                     help="see: astraea policies (default astraea)"
                     + ("" if several else f"; {OBSERVED}: what the log recorded")),
        click.option("--nodes", type=listed(whole_number, several), metavar=f"N{more}", callback=_nodes,
                     help="number of machines (default, for venus, helios-venus, philly, philly-two-weeks, w2, "
                     "philly-vcs, chrslo: as in their evaluation)"),
        click.option("--gpus-per-node", type=whole_number, default="8", metavar="N",
                     help="GPUs per machine (default 8)"),
        click.option("--param", type=lambda text: parameter(text, several), multiple=True, metavar=f"NAME=VALUE{more}",
                     help="parameter of the policy or the simulation (see: astraea policies); may be repeated"),
        click.option("--estimator", metavar="NAME",
                     help="source of running times for a policy that needs them: "
                     "oracle, noisy, history, gradient-boosting, constant (default oracle)"),
        click.option("--estimate-error", type=value, metavar="X", help="error of the estimator noisy; 0.5 is 50 %"),
        click.option(seed, "seeds", type=first_seeds if several else listed(whole_number, False), metavar="N",
                     default="1" if several else "0",
                     help="seeds 0 to N-1 (default 1)" if several else "seed of trace, placement and noise"),
    )  # fmt: skip


cache = path("--cache", "DIR", "folder of cached results (default: see astraea cache)")


def refuse_no_file(out: Path | None) -> None:
    """Raise `InputError` if ``--out`` cannot be a file, before anything is computed."""
    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise InputError(f"{out}: --out must be a file in a folder that exists")


def parallel(handler: Handler) -> Handler:
    """Add arguments for where runs are computed while the handler runs."""

    @functools.wraps(handler)
    def placed(jobs: int | None, backend: Any, scheduler: str | None, **others: Any) -> Any:
        with computing(jobs, backend, scheduler):
            return handler(**others)

    return together(
        click.option("--jobs", type=whole_number, metavar="N", help="number of processes (default: number of cores)"),
        click.option("--backend", default="loky", metavar="NAME", help="loky, on this machine (default), or dask"),
        click.option("--scheduler", metavar="ADDRESS", help="address of the Dask cluster, tcp://host:port"),
    )(placed)


@contextmanager
def computing(jobs: int | None, backend: str, scheduler: str | None) -> Iterator[None]:
    """Let `joblib` compute in so many processes of this machine, by default on all cores, or on a Dask cluster."""
    import joblib

    from astraea.core.checks import one_of

    one_of(backend, ("loky", "dask"), "backend")
    if jobs == 0:
        raise InputError("--jobs must be at least 1, got 0")
    if backend == "dask" and not scheduler:
        raise InputError("--backend dask needs the address of a scheduler, --scheduler tcp://host:port")
    if backend != "dask" and scheduler:
        raise InputError(f"--scheduler is for --backend dask only, got {scheduler!r} with {backend}")
    with dask_client(scheduler) if scheduler else nullcontext(), joblib.parallel_config(backend, n_jobs=jobs or -1):
        yield


@contextmanager
def dask_client(scheduler: str) -> Iterator[None]:
    """Connect to a scheduler that has workers; turn errors into one sentence."""
    with extra("dask"):
        from distributed import Client
    try:
        client: Any = Client(scheduler, timeout=DASK_TIMEOUT)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError):
        raise InputError(f"no Dask scheduler answers at {scheduler} within {DASK_TIMEOUT} s") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=DASK_TIMEOUT)
        except TimeoutError:
            raise InputError(f"the Dask scheduler at {scheduler} has no workers") from None
        yield


def listed(read: Callable[[str], Any], several: bool = True) -> Callable[[str], list[Any]]:
    """Make a parser of comma-separated values, or, if not `several`, of one value as a list."""
    return lambda text: [read(part) for part in (text.split(",") if several else [text])]


def named_columns(text: str) -> dict[str, str] | list[str]:
    """Parse OURS=THEIRS,OURS=THEIRS, or NAME,NAME."""
    if "=" not in text and "," in text:
        return [name.strip() for name in text.split(",")]
    pairs = [[name.strip() for name in part.partition("=")] for part in text.split(",")]
    if not all(ours and theirs for ours, _, theirs in pairs):
        raise click.BadParameter(f"expected OURS=THEIRS,OURS=THEIRS or NAME,NAME, got {text!r}")
    return {ours: theirs for ours, _, theirs in pairs}


def measured_overheads(path: Path) -> dict[str, float]:
    """Read `checkpoint_overhead` and `restart_overhead` [s] from a JSON file; `InputError` if one is missing or bad."""
    from astraea.core.checks import number
    from astraea.traces.readers.table import read_json

    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError(f"{path}: expected an object with checkpoint_overhead and restart_overhead, got {found!r:.60}")
    expected = "a time from 0 to 1e9 s"
    return {
        name: number(found.get(name), f"{path}: {name}", least=0, most=1e9, expected=expected)
        for name in ("checkpoint_overhead", "restart_overhead")
    }


def whole_number(text: str) -> int:
    """Parse a whole number of at least 0."""
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise click.BadParameter(f"expected a whole number of at least 0, got {text!r}")
    return int(text)


def first_seeds(text: str) -> list[int]:
    """Parse the number of seeds and return them, counted from 0."""
    if whole_number(text) == 0:
        raise InputError("--seeds must be at least 1, got 0")
    return list(range(int(text)))


def value(text: str) -> float | str:
    """Parse a number or a truth value; any other text is returned as it is, for placement and estimator."""
    if text in ("true", "false"):
        return text == "true"
    try:
        number = float(text.replace("_", "x"))  # float() would read 9_00 as 900
    except ValueError:
        return text
    if math.isnan(number):
        raise click.BadParameter(f"expected a number or a word, got {text!r}")
    return number


def parameter(text: str, several: bool) -> tuple[str, list[float | str]]:
    """Parse NAME=VALUE, or NAME=VALUE,VALUE if `several`."""
    name, equals, values = (part.strip() for part in text.partition("="))
    if not (name and equals and values):
        raise click.BadParameter(f"expected NAME=VALUE, got {text!r}")
    found = [value(part.strip()) for part in values.split(",")]
    if len(found) > 1 and not several:
        raise InputError(f"--param {name}: expected one value, got {len(found)}")
    return name, found
