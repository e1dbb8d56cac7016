"""The comparison with a real cluster: what is read of its runs, and the committed tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from places import ROOT

from astraea.core.errors import InputError
from verification.gavel_hardware import NAMES, RUN, STEPS, crowding, read_reference, verify_hardware

STARTS, GANGS, ALONE = (0, 0, 100, 300), (16, 32, 1, 1), (500.0, 900.0, 50.0, 400.0)
TYPES = ("v100", "p100", "k80", "v100_unconsolidated")
THEIRS = (700.0, 1500.0, 200.0, 800.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four jobs of 2 steps/s, of 1,000 s as listed, and the run of one policy."""
    place = tmp_path / "shockwave"
    place.mkdir()
    speeds = {f"('LM', {gang})": {"null": 2.0} for gang in (1, 16, 32)}
    (place / "tacc_throughputs.json").write_text(json.dumps(dict.fromkeys(TYPES, speeds)))
    lines = [
        "\t".join(map(str, ("LM", "main.py", "lm", "--steps", 1, 2000, gang, "gns", 1, -1.0, 1000, start)))
        for gang, start in zip(GANGS, STARTS, strict=True)
    ]
    (place / "120_jobs.trace").write_text("\n".join(lines) + "\n")
    jct = np.array(THEIRS)
    fairness = jct / ALONE / crowding(np.array(STARTS), jct)
    run = {"makespan": 1500.0, "rounds": 12, "jct": THEIRS, "ftf_themis": fairness.tolist()}
    (place / "results.json").write_text(json.dumps({f"{NAMES['las']}_simulation": run}))
    return tmp_path


def test_crowding_counts_jobs_while_a_job_lives() -> None:
    start, jct = np.repeat([0.0, 100.0], [64, 1]), np.repeat([100.0, 100.0], [64, 1])
    assert crowding(start, jct).tolist() == [2.0] * 64 + [1.0]  # 64 jobs for 32 GPUs, then one, which counts as 32
    jct[-1], start[-1] = 100.0, 50.0
    assert crowding(start, jct)[[0, -1]].tolist() == [64.5 / 32, 33 / 32]


def test_lengths_are_told_by_the_fairness_of_the_runs(folder: Path) -> None:
    reference = read_reference(folder)
    assert reference.alone == pytest.approx(ALONE)
    assert reference.workload.scale_factor.tolist() == list(GANGS)
    assert reference.throughputs.types == ("v100",)
    with pytest.raises(InputError, match=r"results\.json: no such file"):
        read_reference(folder / "shockwave")


def test_tables_of_a_small_reference(folder: Path) -> None:
    summary, steps, jobs = verify_hardware(folder)
    assert list(zip(summary["policy"], summary["source"], strict=True)) == [
        ("las", "their simulator"), *((policy, source) for policy in RUN for source in ("here", "as their simulator")),
    ]  # fmt: skip
    theirs = summary.iloc[0]
    assert (theirs["makespan"], theirs["average_jct"], theirs["simulator_correlation"]) == (1500, 800, 1)
    assert np.isnan(theirs["cluster_correlation"])
    here = jobs[jobs["policy"] == "las"]
    assert (here["here"] >= 1000).all()
    assert (here["as_their_simulator"] < here["here"]).all()  # the jobs are shorter
    assert here["their_simulator"].tolist() == list(THEIRS)
    assert list(dict.fromkeys(steps["step"])) == ["as here", "solved at every change", *STEPS]
    assert steps.loc[steps["step"] == "solved at every change", "average_jct"].isna().all()


@pytest.mark.exhaustive
def test_committed_tables_are_those_of_a_fresh_run(shared: Path) -> None:
    tables = verify_hardware(shared / "reference")
    for suffix, found in zip(("", "_steps", "_jobs"), tables, strict=True):
        committed = pd.read_csv(ROOT / "data" / f"verification_hardware{suffix}.csv")
        pd.testing.assert_frame_equal(found.round(0) if suffix == "_jobs" else found, committed, rtol=1e-5,
                                      check_dtype=False)  # fmt: skip


@pytest.mark.exhaustive
def test_what_is_read_of_their_runs_is_what_they_published(shared: Path) -> None:
    r = read_reference(shared / "reference")
    for (policy, source), run in r.runs.items():
        told = r.jct(policy, source) / r.alone / crowding(r.workload.arrival_time, r.jct(policy, source))
        assert told == pytest.approx(run["ftf_themis"], rel=0.15 if source == "cluster" else 0.03)
    gang, simulated = r.workload.scale_factor, r.runs["las", "their simulator"]
    used = simulated["util"] * simulated["makespan"] * 32
    assert float(gang @ r.alone) == pytest.approx(used, rel=0.02)  # GPU-time of all jobs
