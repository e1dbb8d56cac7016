"""Speed and memory of the simulator: `make bench` measures, prints, and writes bench/results.md.

Every figure is the median of several runs in one process on one core, after compilation; memory is the peak of a
process of its own that does nothing else. No test looks at these numbers.
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

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import POLICIES
from astraea.cluster.simulate import simulate
from astraea.estimation.models import GradientBoosting
from astraea.traces.synthetic import synthesize
from astraea.traces.trace import Trace

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.md"
REFERENCE = HERE.parents[1] / "shared" / "reference" / "chrSLO.input.csv.gz"
COPIES = (1, 3, 7, 23)
ROOMY = Cluster(240)
"""Synthetic Philly loads it to 0.89; where the load is 1 or more, the queue itself grows with the number of jobs."""
RUNS = 5


def reference_workload() -> tuple[Trace, Cluster] | None:
    """30,735 real Philly jobs on 140 nodes, where the machine has them."""
    if not REFERENCE.exists():
        return None
    jobs = pd.read_csv(REFERENCE).rename(columns={"user": "tenant", "num_gpu": "demand"})
    jobs = jobs[["job_id", "tenant", "demand", "submit_time", "duration"]]
    return Trace.from_frame(jobs, name="philly-reference"), Cluster(140)


def repeated(trace: Trace, copies: int, period: float) -> Trace:
    """The same weeks again and again: more jobs at the same load."""
    frame = trace.frame
    parts = [
        frame.assign(job_id=f"{k}-" + frame["job_id"], submit_time=frame["submit_time"] + k * period)
        for k in range(copies)
    ]
    weights = dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True))
    return Trace.from_frame(pd.concat(parts, ignore_index=True), name=f"{trace.name} x {copies}", weights=weights)


def median_seconds(action: Callable[[], object], runs: int = RUNS) -> tuple[float, float, float]:
    """Median, smallest and largest wall time of `action`, after one run that does not count [s]."""
    action()
    taken = []
    for _ in range(runs):
        began = time.perf_counter()
        action()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), min(taken), max(taken)


def peak_memory(policy: str) -> float:
    """Peak of a process that reads the reference workload and simulates it once [MB]."""
    code = f"import sys; sys.path[:0] = [{str(HERE)!r}]; import run; run.one_simulation({policy!r})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(out.stdout)


def one_simulation(policy: str) -> None:
    """Simulate the reference workload once and print the process's peak memory in MB."""
    workload = reference_workload() or (synthesize("philly"), Cluster(210))
    simulate(*workload, policy)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak / (1024 if platform.system() == "Linux" else 1024**2))


def first_compilation() -> float:
    """Time of a process with an empty cache that compiles the engine and every policy [s]."""
    code = (
        "from astraea.cluster.policies import POLICIES\nfrom astraea.cluster.engine.compilation import compiled_for\n"
        "for p in POLICIES.values(): compiled_for(p.select)"
    )
    with tempfile.TemporaryDirectory() as empty:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_CACHE_DIR": empty})
        return time.perf_counter() - began


def fitting(name: str) -> tuple[float, float, float]:
    """Median, smallest and largest time to fit the gradient boosting to six weeks of history and to estimate [s]."""
    trace = synthesize(name)
    return median_seconds(lambda: GradientBoosting().fit(trace).predict(trace), 3)


def growth_exponent(jobs: list[int], seconds: list[float]) -> float:
    """Slope of log time against log jobs."""
    return float(np.polyfit(np.log(jobs), np.log(seconds), 1)[0])


def main() -> None:
    """Measure everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the growth curve (minutes)")
    quick = parser.parse_args().quick
    peak = peak_memory("astraea")  # first: a process starts with the peak of the one that made it
    lines = [
        "# Measured by `make bench`",
        "",
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; "
        f"one core, median of {RUNS} runs [smallest .. largest], after compilation.",
        "",
        "| workload | scheduler | seconds | | |",
        "| --- | --- | --- | --- | --- |",
    ]
    workloads = [w for w in [reference_workload()] if w]
    workloads += [(synthesize("venus"), Cluster(100)), (synthesize("philly"), Cluster(210))]
    tasks = [(trace, cluster, name) for trace, cluster in workloads for name in POLICIES]
    for trace, cluster, name in tqdm(tasks, desc="schedulers"):
        middle, low, high = median_seconds(lambda t=trace, c=cluster, n=name: simulate(t, c, n))
        jobs = f"{trace.name}, {len(trace):,} jobs, {cluster.nodes} nodes"
        lines.append(f"| {jobs} | {name} | {middle:.2f} | {low:.2f} .. {high:.2f} | |")
    lines += ["", f"First compilation of engine and all schedulers: {first_compilation():.0f} s."]
    fits = [f"{name} {fitting(name)[0]:.1f} s" for name in ("venus", "philly")]
    lines += ["", f"Gradient boosting, fitted to six weeks of history and asked for all jobs: {', '.join(fits)}."]
    lines += ["", f"Peak memory, ASTRAEA on the first workload of the table: {peak:.0f} MB."]
    if not quick:
        lines += ["", "Growth at a constant load of 0.89 (ASTRAEA, synthetic Philly repeated in time, 240 nodes):", ""]
        lines += ["| jobs | seconds |", "| --- | --- |"]
        philly = synthesize("philly")
        growing = [philly.head(10_000)] + [repeated(philly, k, 14 * 86_400.0) for k in COPIES]
        seconds = []
        for trace in tqdm(growing, desc="growth"):
            seconds.append(median_seconds(lambda t=trace: simulate(t, ROOMY, "astraea"), runs=3)[0])
            lines.append(f"| {len(trace):,} | {seconds[-1]:.2f} |")
        exponent = growth_exponent([len(t) for t in growing], seconds)
        lines += ["", f"Time grows as n^{exponent:.2f}."]
    import gavel_programs  # here, so that they take no memory in the process that measures that
    import market
    import themis_apps

    lines += ["", f"Gavel, median of {gavel_programs.RUNS} runs, beside what each may take [s]:"]
    lines += ["", *gavel_programs.lines()]
    lines += ["", f"The market of [Wang2023], median of {gavel_programs.RUNS} runs, beside what each may take [s]:"]
    lines += ["", *market.lines()]
    lines += ["", f"Themis in its own setting, median of {gavel_programs.RUNS} runs, beside what each may take [s]:"]
    lines += ["", *themis_apps.lines()]
    RESULTS.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
