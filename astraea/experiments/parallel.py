"""Calls in parallel under joblib: on the cores of this machine, or on a Dask cluster."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from astraea.core.checks import one_of, whole_number
from astraea.core.errors import InputError, extra

Backend = Literal["loky", "dask"]

DASK_TIMEOUT: Final = 8
"""How long a Dask scheduler may take to answer [s]."""

# loky renews a worker whose memory has grown by 300 MB, such as with compiled code, and says so; nothing is lost by it
warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor", UserWarning)

T = TypeVar("T")


class Place(NamedTuple):
    """Where calls are computed; nothing that is computed depends on it."""

    jobs: int | None = None
    backend: Backend = "loky"
    scheduler: str | None = None

    @property
    def processes(self) -> int:
        """How many there are on this machine."""
        return self.jobs or int(joblib.cpu_count())


class computing:
    """Choose where everything is computed from now on; in a ``with`` statement, until its end.

    Parameters
    ----------
    jobs : int, optional
        Processes; as many as there are cores if not given. A Dask cluster brings its own number.
    backend : {"loky", "dask"}
        Processes of this machine, or a Dask cluster; the results are the same, byte for byte.
    scheduler : str, optional
        Address of the Dask scheduler, ``tcp://host:port``.

    Raises
    ------
    InputError
        For a number of processes, a backend or a scheduler that cannot be.
    """

    place = Place()

    def __init__(self, jobs: int | None = None, backend: Backend = "loky", scheduler: str | None = None) -> None:
        jobs = jobs if jobs is None else whole_number(jobs, "jobs", 1)
        one_of(backend, get_args(Backend), "backend")
        if backend == "dask" and not scheduler:
            raise InputError("the dask backend needs the address of a scheduler, tcp://host:port")
        if backend != "dask" and scheduler:
            raise InputError(f"only the dask backend takes a scheduler, got {scheduler!r} with {backend}")
        self.before = computing.place
        computing.place = Place(jobs, backend, scheduler or None)

    def __enter__(self) -> Place:
        return computing.place

    def __exit__(self, *_: object) -> None:
        computing.place = self.before


def parallel_stream(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], common: Iterable[Any] = (), *, ordered: bool = False
) -> Generator[T]:
    """Results of `function(*call)` for all calls, each as soon as it is there, or in the order of the calls.

    Closing the generator, or an exception such as Ctrl-C, ends the workers. `common` are large arguments that many
    calls share; Dask ships them once. `InputError` if the Dask cluster cannot be used, or a worker was killed.
    """
    with _configured(len(calls), common, "generator" if ordered else "generator_unordered") as parallel:
        results = parallel(joblib.delayed(function)(*call) for call in calls)
        try:
            for result in results:  # noqa: UP028  `yield from` would close the results before we do
                yield result
        except TerminatedWorkerError:
            raise InputError(
                "a worker process was killed, perhaps for lack of memory; try fewer jobs (what is finished is kept)"
            ) from None
        finally:
            with warnings.catch_warnings():  # joblib would warn that tasks were cancelled, which was the wish
                warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)
                results.close()


@contextmanager
def _configured(calls: int, common: Iterable[Any], return_as: str) -> Iterator[joblib.Parallel]:
    """Make the `joblib.Parallel` of the place that was chosen."""
    place = computing.place
    if place.backend == "dask":
        with _dask_client(str(place.scheduler)), joblib.parallel_config("dask", scatter=list(common)):
            yield joblib.Parallel(return_as=return_as)
        return
    # one thread per process, since the parallelism is over runs; Ctrl-C, which all processes hear, is the caller's
    jobs, deaf = max(1, min(place.processes, calls)), partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    options: dict[str, Any] = {"inner_max_num_threads": 1, "initializer": deaf} if jobs > 1 else {}
    with joblib.parallel_config("loky", n_jobs=jobs, **options):
        parallel = joblib.Parallel(return_as=return_as)
    yield parallel


@contextmanager
def _dask_client(scheduler: str) -> Iterator[None]:
    """Connect to a scheduler that has workers; say in a sentence what goes wrong with it or with them."""
    with extra("dask"):
        from distributed import Client, KilledWorker
    try:
        client: Any = Client(scheduler, timeout=DASK_TIMEOUT)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError):
        raise InputError(f"no Dask scheduler answers at {scheduler} within {DASK_TIMEOUT} s") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=DASK_TIMEOUT)
        except TimeoutError:
            raise InputError(f"the Dask scheduler at {scheduler} has no workers") from None
        try:
            yield
        except ImportError as err:
            raise InputError(f"the Dask workers lack a package: {err}") from None
        except KilledWorker:
            raise InputError("a Dask worker was killed again and again, perhaps for lack of memory") from None
