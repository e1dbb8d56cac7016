"""Each result once: what the cache has is read, what it lacks is computed in parallel and published.

The name of a cached file is the SHA-256 of everything that decides the result (`Work.key`), so nothing in the cache is
ever out of date. A worker publishes each result in one step as soon as it has it: a killed grid loses only what was in
flight, several processes may share a cache, and a repeated grid computes nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from numba.core.errors import NumbaError
from tqdm.auto import tqdm

from astraea.core.compilation import digest
from astraea.core.errors import InputError, PolicyError
from astraea.experiments.archive import Kept, Value, pack, reduced, unpack
from astraea.experiments.parallel import computing, parallel_stream

_ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = (_ROOT if (_ROOT / "pyproject.toml").is_file() else Path()) / "data" / "cache"
"""Where results are kept unless another folder is named: in the project; if installed, in the working folder."""

T = TypeVar("T")


class Work(Protocol):
    """One run to do: a simulation (`run.Run`), or another call that takes long (`run.Call`)."""

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
    def rooms(self) -> tuple[str, ...]:
        """Places in the package, as `core.compilation.digest` takes them, whose code decides the result."""

    @property
    def past(self) -> str:
        """What is learned from before it begins: runs with one past are best done by one process."""

    @property
    def expected(self) -> float:
        """Time that it is likely to take on one core, within a factor of 3 [s]."""

    @property
    def call(self) -> tuple[Any, ...]:
        """A function that gives its result, and the arguments."""

    @property
    def large(self) -> tuple[Any, ...]:
        """Those of the arguments that are large and that other runs share."""

    @property
    def kept(self) -> Kept | None:
        """What is kept of its result; None: everything."""


class Outcome(NamedTuple):
    """What a worker tells of a run: the archive of its result unless it published that, or why there is none."""

    key: str
    data: bytes | None = None
    source: str = ""
    error: type[InputError | PolicyError] | None = None
    sentence: str = ""
    detail: str = ""


def measured(
    runs: Sequence[Work],
    measure: Callable[[Any], T],
    *,
    cache: str | Path | None = None,
    progress: bool = True,
) -> list[T]:
    """Measure the result of every run, from the cache or computed now; only one result at a time is in memory.

    Parameters
    ----------
    runs : sequence of Work
        Equal ones are computed once.
    measure : function of a result
    cache : path, optional
        Folder of the cache, `CACHE` if not given.
    progress : bool
        Show a progress bar if there is something to compute.

    Raises
    ------
    InputError, PolicyError
        If a run failed; names the first that did. The others have been finished and kept.
    """
    folder = CACHE if cache is None else Path(cache)
    keys = [run.key for run in runs]
    distinct = dict(zip(keys, runs, strict=True))
    values: dict[str, T] = {}
    for key in distinct:
        if (result := read_entry(folder, key)) is not None:
            values[key] = measure(result)
    missing = {key: run for key, run in distinct.items() if key not in values}
    _compute(missing, list(distinct), folder, progress, lambda key, result: values.update({key: measure(result)}))
    return [values[key] for key in keys]


def fill(runs: Sequence[Work]) -> None:
    """Compute what the cache lacks, and read nothing; say before how long that will take, if it is long."""
    distinct = {run.key: run for run in runs}
    missing = {key: run for key, run in distinct.items() if not entry(CACHE, key).exists()}
    if sentence := announcement(list(missing.values()), computing.place.processes):
        print(sentence, flush=True)
    _compute(missing, list(distinct), CACHE, True, None)


def announcement(runs: Sequence[Work], jobs: int) -> str:
    """Say how long some runs will take on so many processes, if that is more than half an hour."""
    hours = max(sum(run.expected for run in runs) / jobs, max((run.expected for run in runs), default=0.0)) / 3600
    if hours < 0.5:
        return ""
    return (
        f"{len(runs):,} simulations to do: expect about {hours:.1f} h on {jobs} processes. Stop at any time: "
        "each result is kept as soon as it is there, and the same command goes on from it."
    )


def _compute(
    missing: Mapping[str, Work],
    order: Sequence[str],
    folder: Path,
    progress: bool,
    take: Callable[[str, Any], None] | None,
) -> None:
    """Compute runs and publish their results; hand each to `take` if somebody wants to see it."""
    if not missing:
        return
    failures: list[Outcome] = []
    bar = tqdm(total=len(missing), desc="simulating", unit="run", disable=not progress)
    with bar, in_flight(folder) as work:
        shared = work if computing.place.backend != "dask" else None
        # in parts, because Dask ships each large one once
        calls = [(key, folder, shared, run.rooms, run.kept, *run.call) for key, run in missing.items()]
        common = {id(part): part for run in missing.values() for part in run.large}.values()
        with closing(parallel_stream(compute, calls, common)) as outcomes:
            for outcome in outcomes:
                if outcome.error is not None:
                    failures.append(outcome)
                else:
                    _receive(outcome, missing[outcome.key], folder, work, take)
                bar.update()
    if failures:
        first = min(failures, key=lambda outcome: order.index(outcome.key))
        assert first.error is not None
        more = f" (and {len(failures) - 1} more of {len(order)} runs failed)" if len(failures) > 1 else ""
        error = first.error(f"{missing[first.key].label}: {first.sentence}{more}")
        raise error from RuntimeError(f"in a worker:\n{first.detail}")


def compute(
    key: str,
    folder: Path,
    work: Path | None,
    rooms: tuple[str, ...],
    kept: Kept | None,
    function: Callable[..., Value],
    *parts: Any,
) -> Outcome:
    """Do a run in a worker; publish the result if there is a `work` folder, else hand it back.

    Errors are handed back too, so that one run that fails does not end the others.
    """
    try:
        data = pack(reduced(function(*parts), kept), key)
        if work is None:
            return Outcome(key, data, digest(*rooms))
        publish(folder, key, data, work)
        return Outcome(key)
    except Exception as err:
        kind = type(err) if isinstance(err, InputError | PolicyError) else PolicyError
        return Outcome(key, error=kind, sentence=_sentence(err), detail=traceback.format_exc())


def _sentence(error: Exception) -> str:
    """What went wrong, on one line."""
    if isinstance(error, InputError | PolicyError):
        return str(error)
    if isinstance(error, NumbaError):
        return f"the policy cannot be compiled ({' '.join(str(error).split())[:300]})"
    return " ".join(f"{type(error).__name__}: {error}".split())


def _receive(
    outcome: Outcome, run: Work, folder: Path, work: Path, take: Callable[[str, Any], None] | None
) -> None:
    """Publish the result that a worker sent, and read it, or the one that it published, if somebody wants it."""
    if outcome.data is not None:
        if outcome.source != digest(*run.rooms):
            raise InputError("the Dask workers run another version of astraea than this process")
        publish(folder, outcome.key, outcome.data, work)
    if take is None:
        return
    published = read_entry(folder, outcome.key)
    if published is None:
        raise InputError(f"{entry(folder, outcome.key)}: the result that was just written there is gone or damaged")
    take(outcome.key, published)


def entry(folder: Path, key: str) -> Path:
    """Where the result with this key is kept."""
    return folder / f"{key}.zip"


def read_entry(folder: Path, key: str) -> Value | None:
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


def publish(folder: Path, key: str, data: bytes, work: Path) -> None:
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
