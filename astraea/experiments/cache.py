"""Each result once: cached results are read, missing ones are computed in parallel and published.

The name of a cached file is the SHA-256 of everything that determines the result (`Run.key`), so no file is ever out of
date. A worker's output is kept only if the worker ran the code in the key. Each result is published atomically as soon
as it is computed, so a killed grid loses only the runs in progress, and several processes may share a cache.

`joblib` computes: by default on all cores of this machine, and elsewhere in a ``with joblib.parallel_config(...)``.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import joblib
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from numba.core.errors import NumbaError
from numba.misc.appdirs import AppDirs

from astraea.cluster.engine import loop
from astraea.core import compilation, source
from astraea.core.errors import InputError, PolicyError
from astraea.core.files import write_atomically
from astraea.core.progress import progress as progress_bar
from astraea.estimation.estimators import LEARNED
from astraea.experiments.archive import Keep, Value, pack, reduced, unpack
from astraea.experiments.run import Named, Run, code_of, module_of

_OF_USER: Final = Path(AppDirs("astraea", appauthor=False).user_cache_dir) / "results"

CACHE: Final = source.ROOT / "data" / "cache" if source.IS_CHECKOUT else _OF_USER
"""Default folder of results: in the user's cache folder; for a checkout of the project, inside it."""

MOST: Final = 2e9
"""Size of the folder in the user's cache above which the results that were not used for longest are removed [byte]."""

T = TypeVar("T")

# loky replaces a worker whose memory grew by 300 MB, for example with compiled code, and warns; nothing is lost
warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor", UserWarning)


class ChangedError(InputError):
    """The code changed since the process started, so nothing that it computes from now on can be cached."""

    def __init__(self) -> None:
        super().__init__(
            "a worker runs other code than this process: astraea, or a module that a policy reads, has another "
            "version there or was edited meanwhile; start again (finished results are kept)"
        )


class Outcome(NamedTuple):
    """A worker's report of a run: the archive of its result and the digest of the code, or the error."""

    key: str
    data: bytes = b""
    code: str = ""
    error: InputError | PolicyError | None = None
    detail: str = ""


def measured(
    runs: Sequence[Run], measure: Callable[[Any], T], *, cache: str | Path | None = None, progress: bool = True
) -> list[T]:
    """Measure the result of every run, cached or computed now; only one result at a time is in memory.

    Equal runs are computed once. The folder `cache` is `CACHE` by default; `progress` shows a progress bar.
    `InputError` or `PolicyError` names the first run that failed; all others are finished and kept, unless the code
    changed meanwhile, which ends the grid.
    """
    folder = CACHE if cache is None else Path(cache)
    keys = [run.key for run in runs]
    missing = dict(zip(keys, runs, strict=True))
    values: dict[str, T] = {}
    for key in [*missing]:
        if (result := read_entry(folder, key)) is not None:
            values[key] = measure(result)
            del missing[key]
    for key, result in _computed(missing, folder, progress=progress):
        values[key] = measure(result)
    return [values[key] for key in keys]


def _computed(missing: Mapping[str, Run], folder: Path, *, progress: bool) -> Iterator[tuple[str, Value]]:
    """Compute runs, publish each result, and yield it with its key; at the end raise the error of the first failure."""
    failures: list[Outcome] = []
    is_changed = False
    is_quiet = not (progress and missing) or "TQDM_DISABLE" in os.environ  # which tqdm does not see in a notebook
    with (
        progress_bar("simulating", "runs", len(missing), disable=is_quiet) as bar,
        closing(_outcomes({key: missing[key] for key in in_order(missing)})) as outcomes,
    ):
        for outcome in outcomes:
            bar.update()
            if outcome.error is not None:
                failures.append(outcome)
                continue
            if outcome.code != missing[outcome.key].code:
                is_changed = True
                break
            write_atomically(entry(folder, outcome.key), outcome.data)
            yield outcome.key, unpack(outcome.data)
    if is_changed:
        get_reusable_executor().shutdown(wait=False, kill_workers=True)  # the next ones load the files anew
        raise ChangedError
    if missing and folder == _OF_USER:
        trim(folder, MOST)
    if failures:
        order = [*missing]
        first = min(failures, key=lambda outcome: order.index(outcome.key))
        more = f" (and {len(failures) - 1} more of {len(order)} runs failed)" if len(failures) > 1 else ""
        kind = InputError if isinstance(first.error, InputError) else PolicyError
        label, trace = missing[first.key].label, RuntimeError(f"in a worker:\n{first.detail}")
        raise kind(f"{label}: {first.error}{more}") from trace


def in_order(runs: Mapping[str, Run]) -> list[str]:
    """Return keys in the order of computation: the longest first, so that no worker is left with it alone.

    Before all others comes one run of each function and policy, so that workers compile different ones.
    """
    kinds = {key: (run.function, run.policy.name) for key, run in runs.items()}
    first = {*{kind: key for key, kind in reversed(kinds.items())}.values()}
    return sorted(runs, key=lambda key: (key not in first, -runs[key].expected))


def _outcomes(runs: Mapping[str, Run]) -> Generator[Outcome]:
    """Yield the outcome of each run as soon as it is known; end the workers when closed, or interrupted.

    Runs that learn running times from the same jobs go to one worker, one after the other, so that it learns once.

    `InputError` if a worker was killed, or the cluster that was chosen with `joblib` cannot be used.
    """
    groups: dict[str, list[Any]] = {}
    for key, run in runs.items():
        groups.setdefault(learned_from(run) or key, []).append((key, run.keep, *run.call))
    calls = [*groups.values()]
    if calls and not loop.is_compiled():
        yield compute(*calls[0].pop(0))  # here, so that not every worker compiles the same, and it can be said
    backend, chosen = joblib.parallel.get_active_backend()
    jobs = min(backend.effective_n_jobs(-1 if chosen is None else chosen), max(len(calls), 1))
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    results = parallel(joblib.delayed(_in_worker)(os.getpid(), group) for group in calls if group)
    try:
        for outcomes in results:
            yield from outcomes
    except TerminatedWorkerError:
        raise InputError(
            "a worker process was killed, perhaps for lack of memory; try fewer jobs (finished results are kept)"
        ) from None
    except Exception as err:  # `compute` raises none, so this one is of the transport or of the cluster
        raise InputError(f"the workers failed: {_on_one_line(err)} (finished results are kept)") from err
    finally:
        with warnings.catch_warnings():  # joblib would warn about cancelled tasks, which are intended
            warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)
            results.close()


def learned_from(run: Run) -> str:
    """Return a name of the jobs that a run learns running times from; empty if it does not learn."""
    if not run.policy.needs_estimates or run.settings.estimator not in LEARNED:
        return ""
    past = run.trace.history
    return "" if past is None else f"{run.settings.estimator} {past.digest}"


def _in_worker(caller: int, calls: Sequence[Sequence[Any]]) -> list[Outcome]:
    """Compute runs in a worker process, which is silent and leaves Ctrl-C to the caller."""
    if os.getpid() != caller:
        compilation.is_silent = True
        with suppress(ValueError):  # Dask computes in a thread, which gets no signals
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    return [compute(*call) for call in calls]


def compute(key: str, keep: Keep | None, function: Callable[..., Value], *arguments: Any) -> Outcome:
    """Compute a run; return errors too, so that a failing run does not end the others."""
    try:
        given = [part.policy if isinstance(part, Named) else part for part in arguments]
        data = pack(reduced(function(*given), keep))
        return Outcome(key, data, code_of(function, given) if source.is_unchanged(module_of(function)) else "")
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
    """Read a cached result and mark it as used; a damaged one is reported on standard error and removed."""
    path = entry(folder, key)
    try:
        value = unpack(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as err:
        raise InputError(f"{path}: cannot be read ({err.strerror or err})") from None
    except InputError as err:
        print(f"{path}: damaged ({err}); it is removed and computed again", file=sys.stderr)
        path.unlink(missing_ok=True)
        return None
    with suppress(OSError):  # the folder may be read-only
        os.utime(path)
    return value


def size(folder: Path) -> tuple[int, int]:
    """Return the number of results in a folder, and their size [byte]."""
    sizes = [status.st_size for _, status in _entries(folder)]
    return len(sizes), sum(sizes)


def trim(folder: Path, most: float) -> int:
    """Remove the results whose last use is longest ago until the rest takes at most `most` bytes; return how many."""
    found = sorted(_entries(folder), key=lambda found: found[1].st_mtime)
    excess, removed = sum(status.st_size for _, status in found) - most, 0
    for path, status in found:
        if excess <= 0:
            break
        path.unlink(missing_ok=True)
        excess, removed = excess - status.st_size, removed + 1
    return removed


def _entries(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.glob("*.zip"):
        with suppress(FileNotFoundError):  # another process removed it
            yield path, path.stat()
