"""Runs in parallel, each result once: what the cache has is read, what it lacks is computed and published."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import joblib
from numba.core.errors import NumbaError
from tqdm.auto import tqdm

from astraea.core.errors import InputError, PolicyError
from astraea.core.result import Result
from astraea.experiments import parallel
from astraea.experiments.archive import pack, unpack

_ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = (_ROOT if (_ROOT / "pyproject.toml").is_file() else Path()) / "data" / "cache"
"""Where results are kept unless another folder is named: in the project; if installed, in the working folder."""

T = TypeVar("T")


class Work(Protocol):
    """One simulation to do: `astraea.experiments.run.Run`, or that of another system."""

    @property
    def key(self) -> str:
        """Name of its result in a cache: equal keys mean equal results."""

    @property
    def label(self) -> str:
        """Which run it is, for messages."""

    @property
    def columns(self) -> dict[str, Any]:
        """What distinguishes it, as a row of a table."""

    @property
    def source(self) -> str:
        """SHA-256 of the code that it runs, as in the provenance of its result."""

    @property
    def past(self) -> str:
        """What is learned from before it begins: runs with one past are best done by one process."""

    @property
    def expected(self) -> float:
        """Time that it is likely to take on one core, as measured on another machine, within a factor of 3 [s]."""

    @property
    def call(self) -> tuple[Any, ...]:
        """A function that gives its `Result`, and the arguments."""

    @property
    def large(self) -> tuple[Any, ...]:
        """Those of the arguments that are large and that other runs share."""


class Outcome(NamedTuple):
    """What a worker tells of a run: the archive of its result unless it published that, or why there is none."""

    key: str
    data: bytes | None = None
    error: type[InputError | PolicyError] | None = None
    sentence: str = ""
    detail: str = ""


def fill(runs: Sequence[Work], *, jobs: int | None, backend: parallel.Backend, scheduler: str | None) -> None:
    """Compute what the cache lacks, and read nothing; arguments as in `run_grid`."""
    parallel.check(jobs, backend, scheduler)
    distinct = {run.key: run for run in runs}
    missing = {key: run for key, run in distinct.items() if not entry(CACHE, key).exists()}
    failures = []
    if sentence := announcement(list(missing.values()), jobs or joblib.cpu_count()):
        print(sentence, flush=True)
    with tqdm(total=len(missing), desc="simulating", unit="run", disable=not missing) as bar, in_flight(CACHE) as work:
        with closing(_outcomes(missing, CACHE, work, jobs=jobs, backend=backend, scheduler=scheduler)) as outcomes:
            for outcome in outcomes:
                if outcome.error is not None:
                    failures.append(outcome)
                elif outcome.data is not None:
                    _received(outcome, missing[outcome.key], CACHE, work)
                bar.update()
    if failures:
        raise _failure(failures, distinct)


def announcement(runs: Sequence[Work], jobs: int) -> str:
    """Say how long some runs will take on so many processes, if that is more than half an hour."""
    hours = max(sum(run.expected for run in runs) / jobs, max((run.expected for run in runs), default=0.0)) / 3600
    if hours < 0.5:
        return ""
    return (
        f"{len(runs):,} simulations to do: expect about {hours:.1f} h on {jobs} processes. Stop at any time: "
        "each result is kept as soon as it is there, and the same command goes on from it."
    )


def measured(
    runs: Sequence[Work],
    measure: Callable[[Result], T],
    *,
    jobs: int | None,
    cache: str | Path | None,
    backend: parallel.Backend,
    scheduler: str | None,
    progress: bool,
) -> list[T]:
    """Measure the result of every run, from the cache or computed now; arguments as in `run_grid`."""
    parallel.check(jobs, backend, scheduler)
    folder = CACHE if cache is None else Path(cache)
    keys = [run.key for run in runs]
    distinct = dict(zip(keys, runs, strict=True))
    values: dict[str, T] = {}
    failures: list[Outcome] = []
    with tqdm(total=len(distinct), desc="simulating", unit="run", disable=not progress) as bar:
        for key in distinct:
            if (result := read_entry(folder, key)) is not None:
                values[key] = measure(result)
                bar.update()
        missing = {key: run for key, run in distinct.items() if key not in values}
        if missing:
            with in_flight(folder) as work:
                todo = _outcomes(missing, folder, work, jobs=jobs, backend=backend, scheduler=scheduler)
                with closing(todo) as outcomes:
                    for outcome in outcomes:
                        if outcome.error is not None:
                            failures.append(outcome)
                        else:
                            values[outcome.key] = measure(_received(outcome, missing[outcome.key], folder, work))
                        bar.update()
    if failures:
        raise _failure(failures, distinct)
    return [values[key] for key in keys]


def _outcomes(
    runs: Mapping[str, Work],
    folder: Path,
    work: Path,
    *,
    jobs: int | None,
    backend: parallel.Backend,
    scheduler: str | None,
) -> Generator[Outcome]:
    """Compute runs, each outcome as soon as it is there."""
    if not runs:
        return
    shared_disk = backend != "dask"
    calls = [_call(key, run, folder, work if shared_disk else None) for key, run in runs.items()]
    outcomes = parallel.streamed(
        compute, calls, jobs=jobs, backend=backend, scheduler=scheduler,
        common={id(part): part for run in runs.values() for part in run.large}.values(),
    )  # fmt: skip
    with closing(outcomes):
        yield from outcomes


def _call(key: str, run: Work, folder: Path, work: Path | None) -> tuple[Any, ...]:
    """Arguments of `compute`: the run in parts, because Dask ships each large one once."""
    return key, folder, work, *run.call


def compute(key: str, folder: Path, work: Path | None, function: Callable[..., Result], *parts: Any) -> Outcome:
    """Simulate in a worker; publish the result if there is a `work` folder, else hand it back.

    Errors are handed back too, so that one run that fails does not end the others.
    """
    try:
        data = pack(function(*parts), key)
        if work is None:
            return Outcome(key, data)
        publish_entry(folder, key, data, work)
        return Outcome(key)
    except (InputError, PolicyError) as err:
        return Outcome(key, error=type(err), sentence=str(err), detail=traceback.format_exc())
    except NumbaError as err:
        what = f"the policy cannot be compiled ({' '.join(str(err).split())[:300]})"
        return Outcome(key, error=PolicyError, sentence=what, detail=traceback.format_exc())
    except Exception as err:
        what = " ".join(f"{type(err).__name__}: {err}".split())
        return Outcome(key, error=PolicyError, sentence=what, detail=traceback.format_exc())


def _received(outcome: Outcome, run: Work, folder: Path, work: Path) -> Result:
    """Read the result that a worker published, or publish the one that it sent."""
    if outcome.data is not None:
        result = unpack(outcome.data, outcome.key)
        if result.provenance["source_sha256"] != run.source:
            raise InputError("the Dask workers run another version of astraea than this process")
        publish_entry(folder, outcome.key, outcome.data, work)
        return result
    published = read_entry(folder, outcome.key)
    if published is None:
        raise InputError(f"{entry(folder, outcome.key)}: the result that was just written there is gone or damaged")
    return published


def _failure(failures: Sequence[Outcome], runs: Mapping[str, Work]) -> InputError | PolicyError:
    """Make one exception of all failures: it names the first in the order of the runs, and counts the others."""
    order = list(runs)
    first = min(failures, key=lambda outcome: order.index(outcome.key))
    assert first.error is not None
    more = f" (and {len(failures) - 1} more of {len(runs)} runs failed)" if len(failures) > 1 else ""
    error = first.error(f"{runs[first.key].label}: {first.sentence}{more}")
    error.__cause__ = RuntimeError(f"in a worker:\n{first.detail}")
    return error


def entry(folder: Path, key: str) -> Path:
    """Where the result with this key is kept."""
    return folder / f"{key}.zip"


def read_entry(folder: Path, key: str) -> Result | None:
    """Read a cached result; a damaged one is reported on the standard error stream and removed."""
    path = entry(folder, key)
    try:
        return unpack(path.read_bytes(), key)
    except FileNotFoundError:
        return None
    except OSError as err:
        raise InputError(f"{path}: cannot be read ({err.strerror or err})") from None
    except InputError as err:
        tqdm.write(f"{path}: damaged ({err}); it is removed and computed again", file=sys.stderr)
        path.unlink(missing_ok=True)
        return None


def publish_entry(folder: Path, key: str, data: bytes, work: Path) -> None:
    """Write a result into the `work` folder and move it into the cache in one step.

    Whoever publishes the same key at the same time publishes the same content, so the last one may win.
    """
    try:
        (work / key).write_bytes(data)
        os.replace(work / key, entry(folder, key))
    except OSError as err:
        raise InputError(f"{entry(folder, key)}: cannot be written ({err.strerror or err})") from None


@contextmanager
def in_flight(folder: Path) -> Iterator[Path]:
    """Give a folder for files that are being written; it vanishes in the end, also if workers were ended."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        work = tempfile.TemporaryDirectory(prefix=".in-flight-", dir=folder, ignore_cleanup_errors=True)
    except OSError as err:
        raise InputError(f"{folder}: the cache cannot be written ({err.strerror or err})") from None
    with work:
        yield Path(work.name)
