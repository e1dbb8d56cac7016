"""Each result once: cached results are read, missing ones are computed in parallel and published.

The name of a cached file is the SHA-256 of everything that determines the result (`keys`), so no file is ever out of
date. A worker's output is kept only if the worker ran the code in the key. Each result is published atomically as soon
as it is computed, so a killed grid loses only the runs in progress, and several processes may share a cache.
"""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from numba.core.errors import NumbaError

from astraea.cluster.policy import Policy
from astraea.core import source
from astraea.core.errors import InputError, PolicyError
from astraea.core.files import write_atomically
from astraea.core.progress import progress
from astraea.core.units import HOUR
from astraea.experiments import keys
from astraea.experiments.archive import Keep, Value, pack, reduced, unpack
from astraea.experiments.parallel import computing, parallel_stream
from astraea.experiments.run import Run, Work

CACHE: Final = (source.ROOT if (source.ROOT / "pyproject.toml").is_file() else Path()) / "data" / "cache"
"""Default folder of results: in the project's checkout; for an installed package, in the working folder."""

SIMULATING: Final = "simulating"

TOGETHER: Final = 8
"""Most runs of one trace in one task, and so the most that is lost when a grid is killed."""

OTHER_CODE: Final = (
    "a worker runs other code than this process: astraea, or a module that a policy reads, has another version or "
    "has changed meanwhile; start again (finished results are kept)"
)

T = TypeVar("T")


class Outcome(NamedTuple):
    """A worker's report of a run: the archive of its result and the digest of the code, or the error."""

    key: str
    data: bytes = b""
    code: str = ""
    error: InputError | PolicyError | None = None
    detail: str = ""


def measured(
    runs: Sequence[Work], measure: Callable[[Any], T], *, cache: str | Path | None = None, progress: bool = True
) -> list[T]:
    """Measure the result of every run, cached or computed now; only one result at a time is in memory.

    Equal runs are computed once. The folder `cache` is `CACHE` by default; `progress` shows a progress bar.
    `InputError` or `PolicyError` names the first run that failed; all others are finished and kept, unless the code
    changed meanwhile, which ends the grid.
    """
    folder = CACHE if cache is None else Path(cache)
    keys = [run.key for run in runs]
    distinct = dict(zip(keys, runs, strict=True))
    values: dict[str, T] = {}
    for key in distinct:
        if (result := read_entry(folder, key)) is not None:
            values[key] = measure(result)
    missing = {key: run for key, run in distinct.items() if key not in values}
    tasks, word = [[key] for key in missing], SIMULATING if progress else None
    _compute(missing, distinct, folder, word, tasks, lambda key, result: values.update({key: measure(result)}))
    return [values[key] for key in keys]


def fill(runs: Sequence[Work]) -> None:
    """Compute what the cache lacks, without reading results; say beforehand how long it will take, if it is long."""
    distinct = {run.key: run for run in runs}
    missing = {key: run for key, run in distinct.items() if not entry(CACHE, key).exists()}
    if sentence := announcement(list(missing.values()), computing.place.processes):
        print(sentence, flush=True)
    for word, some in stages(missing).items():
        now = {key: missing[key] for key in some}
        _compute(now, distinct, CACHE, word, together(now) if word == SIMULATING else [[key] for key in now])


def stages(missing: Mapping[str, Work]) -> dict[str, list[str]]:
    """Return the order in which runs are computed, so that no two processes compile the same code at the same time.

    The keys are the texts of the progress bar: first one run of each simulator, then one of each separately compiled
    policy, then all others. A simulator that uses all of another one waits until that is compiled.
    """
    simulators: dict[str, str] = {}
    policies: dict[tuple[str, str], str] = {}
    for key, run in missing.items():
        module = run.function.__module__
        simulators.setdefault(module, key)
        policies.setdefault((module, run.policy.name if isinstance(run, Run) else ""), key)
    reach = {module: source.of_module(module).files for module in simulators}
    first = [key for module, key in simulators.items() if not any(reach[module] > other for other in reach.values())]
    second = [key for key in policies.values() if key not in first]
    rest = [key for key in missing if key not in {*first, *second}]
    return {"compiling simulators": first, "compiling policies": second, SIMULATING: rest}


def together(missing: Mapping[str, Work]) -> list[list[str]]:
    """Return groups of runs that are given to a worker at once, the longest first.

    Runs that learn from one past are one task, so that learning happens once. Otherwise a task is at most `TOGETHER`
    runs that share their jobs, so that the jobs are sent, read and hashed once for all of them.
    """
    groups: dict[Hashable, list[str]] = {}
    for key, run in missing.items():
        groups.setdefault(run.shared or key, []).append(key)
    tasks = []
    for group in groups.values():
        most = len(group) if missing[group[0]].learns else TOGETHER
        tasks += [group[at : at + most] for at in range(0, len(group), most)]
    return sorted(tasks, key=lambda keys: -sum(missing[key].expected for key in keys))


def announcement(runs: Sequence[Work], jobs: int) -> str:
    """Return a sentence on how long some runs will take on `jobs` processes, if that is more than half an hour."""
    hours = max(sum(run.expected for run in runs) / jobs, max((run.expected for run in runs), default=0.0)) / HOUR
    if hours < 0.5:
        return ""
    return (
        f"{len(runs):,} simulations to do: expect about {hours:.1f} h on {jobs} processes. You can stop at any "
        "time: finished results are kept, and the same command continues from them."
    )


def _compute(
    missing: Mapping[str, Work], asked: Mapping[str, Work], folder: Path, word: str | None,
    tasks: Sequence[Sequence[str]], take: Callable[[str, Value], None] | None = None,
) -> None:  # fmt: skip
    """Compute tasks of runs and publish their results; show a progress bar if `word` is given; pass each to `take`."""
    if not missing:
        return
    failures: list[Outcome] = []
    calls = [_in_parts({key: missing[key] for key in keys}) for keys in tasks]
    common = {id(part): part for run in missing.values() for part in run.large}.values()
    bar = progress(word or "", "runs", len(missing), disable=word is None)
    with bar, closing(parallel_stream(compute_all, calls, common)) as finished:
        for outcome in itertools.chain.from_iterable(finished):
            if isinstance(outcome.error, source.ChangedError):  # all later runs would fail, too
                raise outcome.error
            if outcome.error is not None:
                failures.append(outcome)
            elif outcome.code != missing[outcome.key].code:
                raise InputError(OTHER_CODE)
            else:
                write_atomically(entry(folder, outcome.key), outcome.data)
                if take is not None:
                    take(outcome.key, unpack(outcome.data))
            bar.update()
    if failures:
        order = list(asked)
        first = min(failures, key=lambda outcome: order.index(outcome.key))
        more = f" (and {len(failures) - 1} more of {len(order)} runs failed)" if len(failures) > 1 else ""
        kind = InputError if isinstance(first.error, InputError) else PolicyError
        raise kind(f"{asked[first.key].label}: {first.error}{more}") from RuntimeError(f"in a worker:\n{first.detail}")


def _in_parts(runs: Mapping[str, Work]) -> tuple[Any, ...]:
    """Return the arguments of `compute_all`, in parts, because Dask ships each large one once."""
    calls = {key: run.call for key, run in runs.items()}
    heads = tuple((key, run.keep, len(calls[key])) for key, run in runs.items())
    return heads, *(part for call in calls.values() for part in call)


def compute_all(heads: Sequence[tuple[str, Keep | None, int]], *parts: Any) -> list[Outcome]:
    """Compute several runs in a worker; `heads` has key, kept columns and number of arguments of each."""
    left = iter(parts)
    return [compute(key, keep, *itertools.islice(left, count)) for key, keep, count in heads]


def compute(key: str, keep: Keep | None, function: Callable[..., Value], *parts: Any) -> Outcome:
    """Compute a run in a worker; return errors too, so that a failing run does not end the others."""
    try:
        arguments = [part.policy if isinstance(part, keys.Named) else part for part in parts]
        policy = next((part for part in arguments if isinstance(part, Policy)), None)
        files = keys.reached(function, policy).files
        source.refuse_changes(files)
        data = pack(reduced(function(*arguments), keep))
        source.refuse_changes(files)
        return Outcome(key, data, keys.code(function, policy))
    except Exception as err:
        return Outcome(key, error=_on_one_line(err), detail=traceback.format_exc())


def _on_one_line(error: Exception) -> InputError | PolicyError:
    """Return an error as one of our own, on one line."""
    if isinstance(error, InputError | PolicyError):
        return error
    if isinstance(error, NumbaError):
        return PolicyError(f"the policy cannot be compiled ({' '.join(str(error).split())[:300]})")
    return PolicyError(" ".join(f"{type(error).__name__}: {error}".split()))


def entry(folder: Path, key: str) -> Path:
    """Return the file of the result with this key."""
    return folder / f"{key}.zip"


def read_entry(folder: Path, key: str) -> Value | None:
    """Read a cached result; a damaged one is reported on the standard error stream and removed."""
    path = entry(folder, key)
    try:
        return unpack(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as err:
        raise InputError(f"{path}: cannot be read ({err.strerror or err})") from None
    except InputError as err:
        print(f"{path}: damaged ({err}); it is removed and computed again", file=sys.stderr)
        path.unlink(missing_ok=True)
        return None
