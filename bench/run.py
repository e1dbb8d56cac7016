"""Speed and memory of the simulator: `make bench` measures, prints, and writes bench/results.md.

Every figure is the median of several runs in one process on one core, after compilation; memory is the peak of a
process of its own that does nothing else. No test looks at these numbers; one takes the smallest size through all.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import all_policies
from astraea.cluster.simulate import simulate
from astraea.core.progress import progress
from astraea.estimation.models import GradientBoosting
from astraea.traces.synthetic import synthesize
from astraea.traces.trace import Trace

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.md"
REFERENCE = HERE.parents[1] / "shared" / "reference" / "chrSLO.input.csv.gz"
ROOMY = Cluster(240)
"""Nodes that synthetic Philly loads to 0.89; at a load of 1 or more, the queue itself grows with the number of jobs."""


class Size(NamedTuple):
    """Sizes and repetitions of what is measured."""

    runs: int = 5  # of which the median is taken
    jobs: int | None = None  # the first so many of each workload; all if None
    policies: tuple[str, ...] = tuple(all_policies())
    copies: tuple[int, ...] = (1, 3, 7, 23)  # of synthetic Philly, for the growth curve
    solves: tuple[int, ...] = (256, 1024, 4096)  # jobs in Gavel's programs
    until: int = 2000  # job at which Gavel's simulations end
    plans: tuple[int, ...] = (250, 500, 1000)  # jobs of the market
    apps: int = 100  # of Themis


TINY = Size(1, 50, ("astraea", "fifo"), (1, 2), (16,), 20, (8,), 3)
"""Measure everything once, in the least time."""


def reference_workload() -> tuple[Trace, Cluster] | None:
    """30,735 real Philly jobs on 140 nodes, where the machine has them."""
    if not REFERENCE.exists():
        return None
    jobs = pd.read_csv(REFERENCE).rename(columns={"user": "tenant", "num_gpu": "demand"})
    jobs = jobs[["job_id", "tenant", "demand", "submit_time", "duration"]]
    return Trace.from_frame(jobs, name="philly-reference"), Cluster(140)


def repeated(trace: Trace, copies: int, period: float) -> Trace:
    """Repeat the same weeks: more jobs at the same load."""
    frame = trace.frame
    parts = [
        frame.assign(job_id=f"{k}-" + frame["job_id"], submit_time=frame["submit_time"] + k * period)
        for k in range(copies)
    ]
    weights = dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True))
    return Trace.from_frame(pd.concat(parts, ignore_index=True), name=f"{trace.name} x {copies}", weights=weights)


def median_seconds(action: Callable[[], object], runs: int) -> tuple[float, float, float]:
    """Median, smallest and largest wall time of `action`, after one run that does not count [s]."""
    action()
    taken = []
    for _ in range(runs):
        began = time.perf_counter()
        action()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), min(taken), max(taken)


def peak_memory(policy: str, jobs: int | None = None) -> float:
    """Peak of a process that reads the reference workload and simulates it once [MB]."""
    code = f"import sys; sys.path[:0] = [{str(HERE)!r}]; import run; run.one_simulation({policy!r}, {jobs})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(out.stdout)


def one_simulation(policy: str, jobs: int | None = None) -> None:
    """Simulate the reference workload once and print the process's peak memory in MB."""
    trace, cluster = reference_workload() or (synthesize("philly"), Cluster(210))
    simulate(trace.head(jobs or len(trace)), cluster, policy)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak / (1024 if platform.system() == "Linux" else 1024**2))


def first_compilation(policies: tuple[str, ...]) -> float:
    """Time of a process with an empty cache that compiles the engine and some policies [s]."""
    code = (
        "import astraea\nworkload = astraea.synthesize('venus').head(1), astraea.Cluster(100)\n"
        f"for name in {policies}: astraea.simulate(*workload, name)"
    )
    with tempfile.TemporaryDirectory() as empty:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_CACHE_DIR": empty})
        return time.perf_counter() - began


def start_lines(runs: int) -> list[str]:
    """Time that a command takes to start and end, as lines of a table."""
    lines = ["| command | seconds | smallest .. largest |", "| --- | --- | --- |"]
    for argv in (["--help"], ["policies"]):
        code = f"import sys; from astraea.cli.main import main; sys.exit(main({argv}))"

        def start(code: str = code) -> None:
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

        middle, low, high = median_seconds(start, runs)
        lines.append(f"| astraea {argv[0]} | {middle:.2f} | {low:.2f} .. {high:.2f} |")
    return lines


def simulator_lines(size: Size) -> list[str]:
    """Time of every scheduler on every workload, as lines of a table."""
    lines = ["| workload | scheduler | seconds | smallest .. largest |", "| --- | --- | --- | --- |"]
    workloads = [w for w in [reference_workload()] if w]
    workloads += [(synthesize("venus"), Cluster(100)), (synthesize("philly"), Cluster(210))]
    workloads = [(trace.head(size.jobs or len(trace)), cluster) for trace, cluster in workloads]
    tasks = [(*workload, name) for workload in workloads for name in size.policies]
    for trace, cluster, name in progress("timing schedulers", "cases", over=tasks):
        middle, low, high = median_seconds(lambda t=trace, c=cluster, n=name: simulate(t, c, n), size.runs)
        jobs = f"{trace.name}, {len(trace):,} jobs, {cluster.nodes} nodes"
        lines.append(f"| {jobs} | {name} | {middle:.2f} | {low:.2f} .. {high:.2f} |")
    return lines


def fitting(name: str, size: Size) -> float:
    """Time to fit the gradient boosting to six weeks of history and to estimate [s]."""
    whole = synthesize(name)
    trace = whole.head(size.jobs or len(whole))
    return median_seconds(lambda: GradientBoosting(trace).predict(trace), min(size.runs, 3))[0]


def growth_lines(size: Size) -> list[str]:
    """Time against the number of jobs, as lines of a table, and the exponent."""
    lines = ["| jobs | seconds |", "| --- | --- |"]
    whole = synthesize("philly")
    philly = whole.head(size.jobs or len(whole))
    traces = [whole.head(size.jobs or 10_000), *(repeated(philly, k, 14 * 86_400.0) for k in size.copies)]
    seconds = []
    for trace in progress("timing growth", "traces", over=traces):
        seconds.append(median_seconds(lambda t=trace: simulate(t, ROOMY, "astraea"), min(size.runs, 3))[0])
        lines.append(f"| {len(trace):,} | {seconds[-1]:.2f} |")
    exponent = growth_exponent([len(t) for t in traces], seconds)
    return [*lines, "", f"Time grows as n^{exponent:.2f}."]


def growth_exponent(jobs: list[int], seconds: list[float]) -> float:
    """Slope of log time against log jobs."""
    return float(np.polyfit(np.log(jobs), np.log(seconds), 1)[0])


def measure(size: Size, *, quick: bool = False) -> list[str]:
    """Measure everything; return the lines of a page."""
    peak = peak_memory("astraea", size.jobs)  # first: a process starts with the peak of the one that made it
    fits = [f"{name} {fitting(name, size):.1f} s" for name in ("venus", "philly")]
    trace, cluster = reference_workload() or (synthesize("philly"), Cluster(210))
    trace = trace.head(size.jobs or len(trace))
    unit = median_seconds(lambda: simulate(trace, cluster, "astraea"), size.runs)[0]
    lines = [
        "# Measured by `make bench`",
        "",
        f"T, the time of {len(trace):,} jobs of {trace.name} under ASTRAEA, is {unit:.3f} s here.",
        "",
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}. A simulation "
        f"uses one core. Times are medians of {size.runs} runs after compilation, with the smallest and the largest.",
        "",
        *simulator_lines(size),
        "",
        f"First compilation of engine and all schedulers: {first_compilation(size.policies):.0f} s.",
        "",
        f"Fitting gradient boosting to six weeks of history and estimating all jobs: {', '.join(fits)}.",
        "",
        f"Peak memory, ASTRAEA on the first workload of the table: {peak:.0f} MB.",
        "",
        "Commands, from call to exit:",
        "",
        *start_lines(size.runs),
    ]
    if not quick:
        lines += ["", "Growth at a constant load of 0.89 (ASTRAEA, synthetic Philly repeated in time, 240 nodes):", ""]
        lines += growth_lines(size)
    import gavel_programs  # here, so that they take no memory in the process that measures that
    import market
    import themis_apps

    runs = min(size.runs, gavel_programs.RUNS)
    for title, table in (
        ("Gavel", gavel_programs.lines(size.solves, size.until, runs, unit)),
        ("The market of [Wang2023]", market.lines(size.plans, runs)),
        ("Themis in its own setting", themis_apps.lines(size.apps, runs)),
    ):
        lines += ["", f"{title}, median of {runs} runs, with limits [s]:", "", *table]
    return lines


def main() -> None:
    """Measure everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the growth curve (minutes)")
    page = "\n".join(measure(Size(), quick=parser.parse_args().quick))
    RESULTS.write_text(page + "\n")
    print(page)


if __name__ == "__main__":
    main()
