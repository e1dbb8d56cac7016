"""Workloads by name: synthetic, downloaded, or a path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from astraea.core.errors import InputError
from astraea.traces.readers import read_trace
from astraea.traces.sources import RAW, SOURCES
from astraea.traces.synthetic import SYNTHETIC, synthesize
from astraea.traces.trace import Trace

FETCHED: Final = {workload: download for download, source in SOURCES.items() for workload in source.workloads}
"""Names of downloaded workloads, and the download that contains each."""

NODES: Final = {
    "venus": 100, "helios-venus": 100, "philly": 210, "philly-two-weeks": 210,
    "w2": 64, "philly-vcs": 64, "chrslo": 140,
}  # fmt: skip
"""8-GPU nodes of the evaluation of [Ye2022] (§6.1.3), and of what its authors' program was run on."""


def named_trace(
    source: str | Path, *, weights: str | Path | None = None, strict: bool = False, seed: int = 0, **reading: Any,
) -> Trace:  # fmt: skip
    """Make or read the trace that a user named: one of `SYNTHETIC` (made from `seed`), of `FETCHED`, or a path.

    The other arguments are for a path, as in `read_trace`; `weights` also for a downloaded workload.
    """
    text = str(source)
    is_fetched = text in FETCHED and not Path(text).exists()
    if (text in SYNTHETIC or is_fetched) and any(reading.values()):
        says = "is a built-in workload: do not give format, time unit, tenant, columns or resource"
        raise InputError(f"{text} {says}")
    if text in SYNTHETIC:
        if weights is not None:
            raise InputError(f"{text}: a synthetic trace has its own tenant weights: do not give any")
        return synthesize(text, seed)
    path = workload_path(text)
    if path is None or not is_fetched:
        return read_trace(source, weights=weights, strict=strict, **reading)
    download = SOURCES[FETCHED[text]]
    own = path.parent / download.shares if download.shares else None
    trace = read_trace(path, weights=own if weights is None else weights, name=text, **download.reading)
    return _part(trace, *download.part[text], download.ties) if text in download.part else trace


def nodes_of(source: str) -> int | None:
    """Return the 8-GPU nodes that a named workload was evaluated on; None if they are unknown, and for a path."""
    return None if source not in SYNTHETIC and Path(source).exists() else NODES.get(source)


def _part(trace: Trace, start: int, end: int, ties: Sequence[Sequence[int]]) -> Trace:
    """Return the jobs from second `start` until before `end`: `w2`, the input of the authors' program for ASTRAEA."""
    # a third of its sharing losses depend on the order of jobs of the same second, which only the program's input gives
    order = np.lexsort((trace.tenant, trace.submit_time))
    begin = int(np.searchsorted(trace.submit_time[order], start))
    for first, *tied in ties:
        at = begin + first
        order[at : at + len(tied)] = order[at + np.array(tied)]
    return trace._take(order).window(start, end)


def workload_path(source: str | Path) -> Path | None:
    """Return the path of a real workload, `source` as in `named_trace`; None for a synthetic one."""
    text = str(source)
    if Path(text).exists():
        return Path(text).resolve()
    if text in SYNTHETIC:
        return None
    if text not in FETCHED:
        known = ", ".join((*SYNTHETIC, *FETCHED))
        raise InputError(f"{text}: no such file or folder, and not a workload; expected one of {known}")
    download = FETCHED[text]
    inside = SOURCES[download].workloads[text]
    for root in (Path(), Path(__file__).resolve().parents[2]):
        if (path := root / RAW / download / inside).exists():
            return path.resolve()
    raise InputError(f"{text}: not downloaded yet; run: astraea data fetch {download}")
