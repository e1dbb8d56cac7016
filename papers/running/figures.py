"""`make figures`: every notebook without a person, in parallel; what is up to date is left alone.

A notebook whose parameters cell sets `TRACE` runs for each trace, the others and those of `ONCE` run once. Each run
writes into a folder of its own; only when it ended well do its files move to their place: a failure loses nothing.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import joblib

from astraea.core.checks import one_of
from astraea.core.errors import InputError, PolicyError
from astraea.core.files import write_atomically
from astraea.core.progress import progress
from astraea.experiments.cache import fill
from astraea.plots.files import further_forms
from astraea.traces.named import workload_path
from astraea.traces.synthetic import SYNTHETIC
from papers import ROOT
from papers import notebooks as all_notebooks
from papers.gallery.crate import write_crate
from papers.gallery.pages import write_gallery
from papers.notebook_cells import read
from papers.running import notebooks
from papers.running.grids import GRIDS
from papers.running.notebooks import Outcome
from papers.scales import SCALES
from papers.ye2022.evaluation import load_workload

LONGEST: Final = ("12_your_cluster", "07_estimates")
"""Notebooks that compute themselves what takes longest: the simulations of one, and what the other learns."""

ONCE: Final = ("00_tour", "02_fairness_mechanisms")
"""Notebooks that run for the first trace only: what they show is no result on a trace."""

SHOWN: Final = (
    "03_lease_term", "04a_fairness", "04b_fairness_experiments", "05_efficiency", "06_cluster_size",
    "08_paper_vs_release", "14_leaderboard",
)  # fmt: skip
"""Notebooks whose figures of a real workload are in the gallery: Figs 9 to 14, the ladder, and the leaderboard."""


@dataclass(frozen=True)
class Task:
    """One notebook with one trace."""

    name: str
    notebook: Path
    trace: str
    parameters: dict[str, Any]
    digest: str
    executed: Path
    staging: Path  # where figures are written first
    record: Path  # of what its last good run depended on and wrote
    target: Path


def make_figures(
    trace: str | None = None,
    scale: str = "paper",
    only: str | None = None,
    *,
    shown: bool = False,
    root: Path = ROOT,
) -> int:
    """Run the notebooks, write the figures and their gallery, say where they are, and return 1 if a notebook failed.

    `trace` is one of `evaluation.load_workload`, or the two synthetic ones if not given. Figures of these at the scale
    `paper` go to ``figures/`` of the checkout `root`, all others to ``build/``. `only` is the name of one
    notebook, or how it begins. With `shown`, the evaluation's figures of a named trace go into the gallery in
    ``figures/`` too. `InputError` if an argument cannot be used.
    """
    one_of(scale, SCALES, "scale")
    began = time.perf_counter()
    if shown and (trace is None or scale == "small"):
        raise InputError("--shown needs --trace and --scale paper")
    tasks = [task for task in _tasks(root, trace, scale, only, shown) if not shown or task.notebook.stem in SHOWN]
    stale = []
    for task in tasks:
        if up_to_date(task):
            print(f"nothing to do: {task.name} is unchanged since its last run, and its files are in place")
        else:
            stale.append(task)
    grids = [(task, GRIDS[task.notebook.stem]) for task in stale if task.notebook.stem in GRIDS]
    runs = {task.executed: grid(task.trace, scale).runs for task, grid in grids}
    try:
        fill([run for some in runs.values() for run in some])
    except (InputError, PolicyError) as failure:  # it comes again in the notebook that needs the run
        print(failure, file=sys.stderr)
    spent = {"simulations": time.perf_counter() - began} if stale else {}
    # those that take longest first: which compute most, then which read most
    stale.sort(key=lambda task: (task.notebook.stem not in LONGEST, -len(runs.get(task.executed, ()))))
    outcomes = _run_all(stale)
    failed = [(task, outcome.error) for task, outcome in zip(stale, outcomes, strict=True) if outcome.error]
    if shown and only is None and not failed:
        written = {name: checksum for task in tasks for name, checksum in _outputs(task).items()}
        write_record(tasks[0].target / f"made_{_slug(str(trace))}.json", str(trace), written)
    command = f"make figures SCALE={scale}" + (f" TRACE={trace}" if trace and not shown else "")
    page = write_gallery(tasks[0].target, command, scale)
    write_crate(tasks[0].target, command, scale)
    spent |= {task.name: outcome.seconds for task, outcome in zip(stale, outcomes, strict=True)}
    for name, seconds in (spent | {"in all": time.perf_counter() - began}).items():
        print(f"{name:<40}{seconds:8.1f} s")
    print(f"figures and gallery: {page}")
    for task, error in failed:
        print(f"failed: {task.name}, {error}\n        executed notebook: {task.executed}", file=sys.stderr)
    return 1 if failed else 0


def write_record(path: Path, trace: str, files: Mapping[str, str]) -> None:
    """Write beside the committed figures of a real workload what they were made from; `files` are names and SHA-256."""
    about = {"command": "make real", "trace": trace, "trace_sha256": load_workload(trace)[0].digest}
    write_atomically(path, json.dumps({**about, "files": dict(sorted(files.items()))}, indent=1) + "\n")


def _tasks(root: Path, trace: str | None, scale: str, only: str | None, shown: bool) -> Iterator[Task]:
    """Find what is to be run, in order."""
    paths = all_notebooks(root)
    chosen = [p for name, p in paths.items() if only is None or name.startswith(only.removesuffix(".ipynb"))]
    if not chosen:
        known = ", ".join(paths) or "none"
        raise InputError(
            f"there is no notebook {only or ''} in {root}; there are: {known}".replace("  ", " ")
        )
    label = scale if trace is None else f"{scale}-{_slug(trace)}"
    build = root / "build" / label
    target = root / "figures" if shown or (trace is None and scale != "small") else build / "figures"
    for path in chosen:
        notebook = read(path)
        names = notebooks.parameter_names(notebook)
        traces = SYNTHETIC if trace is None else (trace,)
        for one in (traces if path.stem not in ONCE else traces[:1]) if "TRACE" in names else ("",):
            data = workload_path(one) if one else None
            given = {"TRACE": str(data) if data and Path(one).exists() else one, "SCALE": scale}
            decides = {k: v for k, v in given.items() if k in names}
            name = f"{path.stem}-{_slug(one)}" if one and path.stem not in ONCE else path.stem
            staging = build / "staging" / name
            where = {"JOBS": joblib.effective_n_jobs(None), "OUT": str(staging)}
            parameters = {**decides, **{k: v for k, v in where.items() if k in names}}
            digest = notebooks.digest(notebook, decides, [data, *data.rglob("*")] if data else [], root)
            executed, record = build / "notebooks" / f"{name}.ipynb", build / "records" / f"{name}.json"
            yield Task(name, path, given["TRACE"] if one else "", parameters, digest, executed, staging, record, target)


def _slug(trace: str) -> str:
    """Name of a trace in a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(trace).resolve().name if Path(trace).exists() else trace).strip("-.")


def up_to_date(task: Task) -> bool:
    """Return true if the last good run had the same inputs, and all that it wrote is still there, unchanged.

    Where further forms of pictures are wanted, it must have written them too; otherwise those of an earlier run stay.
    """
    try:
        record = json.loads(task.record.read_text())
        outputs: dict[str, str] = record["outputs"]
        drawn = [Path(name).with_suffix(f".{f}") for name in outputs if name.endswith(".png") for f in further_forms()]
        return (
            bool(record["digest"] == task.digest and record["target"] == str(task.target))
            and all(str(path) in outputs for path in drawn)
            and all(
                sha256((task.target / name).read_bytes()).hexdigest() == checksum for name, checksum in outputs.items()
            )
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _run_all(tasks: Sequence[Task]) -> list[Outcome]:
    """Run the notebooks in parallel, publish what each good one wrote."""
    if not tasks:
        return []
    for task in tasks:
        shutil.rmtree(task.staging, ignore_errors=True)
        task.staging.mkdir(parents=True)
    jobs = min(joblib.effective_n_jobs(None), len(tasks))
    waiting, outcomes = list(tasks), dict[Path, Outcome]()
    with (
        ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool,
        progress("running notebooks", "notebooks", len(tasks)) as bar,
    ):
        runs = {pool.submit(notebooks.run, task.notebook, task.executed, task.parameters): task for task in tasks}
        bar.set_postfix_str(_running(waiting, jobs))
        try:
            for run in as_completed(runs):
                task = runs[run]
                try:
                    outcome = run.result()
                except BrokenProcessPool:
                    killed = "a process was killed before it was done, perhaps for lack of memory; try fewer jobs"
                    outcome = Outcome(task.executed, 0.0, killed)
                outcomes[task.executed] = outcome
                if not outcome.error:
                    _publish(task)
                waiting.remove(task)
                bar.set_postfix_str(_running(waiting, jobs))
                bar.update()
        except BaseException:
            for process in multiprocessing.active_children():  # which would be waited for
                process.kill()
            raise
    return [outcomes[task.executed] for task in tasks]


def _running(waiting: Sequence[Task], jobs: int) -> str:
    names = ", ".join(task.name for task in waiting[:jobs])
    return f"running {names}; {len(waiting[jobs:])} more to come" if names else ""


def _outputs(task: Task) -> dict[str, str]:
    """Names and SHA-256 of what the last good run wrote."""
    return dict(json.loads(task.record.read_text())["outputs"])


def _publish(task: Task) -> None:
    """Move the files of a good run to their place, remove those of an earlier one that it no longer writes."""
    written = {p.relative_to(task.staging).as_posix(): p for p in sorted(task.staging.rglob("*")) if p.is_file()}
    with contextlib.suppress(OSError, ValueError, KeyError):
        for name in set(_outputs(task)) - set(written):
            (task.target / name).unlink(missing_ok=True)
    outputs = {}
    for name, path in written.items():
        content = path.read_bytes()
        write_atomically(task.target / name, content)
        outputs[name] = sha256(content).hexdigest()
    record = {"digest": task.digest, "target": str(task.target), "outputs": outputs}
    write_atomically(task.record, json.dumps(record, indent=1) + "\n")
    shutil.rmtree(task.staging, ignore_errors=True)
