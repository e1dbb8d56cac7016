"""Parallel calls with joblib: on the cores of this machine, or on a Dask cluster."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Final, Literal, TypeVar, get_args

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from astraea.core.checks import one_of, whole_number
from astraea.core.errors import InputError, extra

Backend = Literal["loky", "dask"]

DASK_TIMEOUT: Final = 8
"""Longest time that a Dask scheduler may take to answer [s]."""

# loky replaces a worker whose memory grew by 300 MB, for example with compiled code, and warns; nothing is lost
warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor", UserWarning)

T = TypeVar("T")


class computing:
    """Choose where everything is computed from now on, or until the end of a ``with`` statement.

    Parameters
    ----------
    jobs : int, optional
        Number of processes; by default the number of cores. A Dask cluster has its own number.
    backend : {"loky", "dask"}
        Processes on this machine, or a Dask cluster; the results are the same, byte for byte.
    scheduler : str, optional
        Address of the Dask scheduler, ``tcp://host:port``.

    Raises
    ------
    InputError
        For an invalid number of processes, backend or scheduler.
    """

    place: ClassVar[computing]

    def __init__(self, jobs: int | None = None, backend: Backend = "loky", scheduler: str | None = None) -> None:
        jobs = jobs if jobs is None else whole_number(jobs, "jobs", 1)
        one_of(backend, get_args(Backend), "backend")
        if backend == "dask" and not scheduler:
            raise InputError("the backend dask needs the address of a scheduler, tcp://host:port")
        if backend != "dask" and scheduler:
            raise InputError(f"scheduler is for the backend dask only, got {scheduler!r} with {backend}")
        self.processes = jobs or int(joblib.cpu_count())
        self.backend, self.scheduler = backend, scheduler
        self.before = getattr(computing, "place", self)
        computing.place = self

    def __enter__(self) -> computing:
        return self

    def __exit__(self, *_: object) -> None:
        computing.place = self.before


computing()


def parallel_stream(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], common: Iterable[Any] = (), *, ordered: bool = False
) -> Generator[T]:
    """Yield the results of `function(*call)` for all calls, each as soon as it is ready, or in order.

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
                "a worker process was killed, perhaps for lack of memory; try fewer jobs (finished results are kept)"
            ) from None
        finally:
            with warnings.catch_warnings():  # joblib would warn about cancelled tasks, which are intended
                warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)
                results.close()


@contextmanager
def _configured(calls: int, common: Iterable[Any], return_as: str) -> Iterator[joblib.Parallel]:
    """Make the `joblib.Parallel` of the chosen place."""
    place = computing.place
    if place.backend == "dask":
        with _dask_client(str(place.scheduler)), joblib.parallel_config("dask", scatter=list(common)):
            yield joblib.Parallel(return_as=return_as)
        return
    # one thread per process, because the parallelism is over runs; workers ignore Ctrl-C, which the caller handles
    jobs, deaf = max(1, min(place.processes, calls)), partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    options: dict[str, Any] = {"inner_max_num_threads": 1, "initializer": deaf} if jobs > 1 else {}
    with joblib.parallel_config("loky", n_jobs=jobs, **options):
        parallel = joblib.Parallel(return_as=return_as)
    yield parallel


@contextmanager
def _dask_client(scheduler: str) -> Iterator[None]:
    """Connect to a scheduler that has workers; turn errors of either into one sentence."""
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
            raise InputError("a Dask worker was killed repeatedly, perhaps for lack of memory") from None
