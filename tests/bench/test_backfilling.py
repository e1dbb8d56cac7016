"""The comparison of backfilling rules: the simulator against plain loops, and the file for other simulators."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from astraea.traces.readers import read_trace
from bench.backfilling import engine, plain, rigid_jobs, write_swf


def test_easy_and_plain_loops_start_every_job_at_the_same_second() -> None:
    jobs = rigid_jobs(1, count=400, load=1.5)
    easy = engine(jobs, "easy")
    assert (easy == plain(jobs)).all()
    assert (easy < engine(jobs, "fifo")).sum() > 50
    for rule in (("nodes", False), ("nodes", True), ("nothing", False)):
        other = plain(jobs, *rule)
        assert (other >= jobs["submit_time"]).all()
        assert (other != easy).any()


def test_another_simulator_reads_the_same_jobs(tmp_path: Path) -> None:
    jobs = rigid_jobs(0, count=50)
    write_swf(jobs, tmp_path / "jobs.swf")
    read = read_trace(tmp_path / "jobs.swf", format="swf").frame
    for column in ("demand", "duration", "time_limit"):
        assert read[column].tolist() == jobs[column].tolist()
    assert np.diff(read["submit_time"]).tolist() == np.diff(jobs["submit_time"]).tolist()
