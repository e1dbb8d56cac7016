"""The textbook is small, needs the standard library only, and computes what the engine computes."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from astraea import textbook
from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.traces.trace import Trace


def test_the_example_of_its_docstring_is_right() -> None:
    assert doctest.testmod(textbook).failed == 0


def test_it_can_be_read_in_an_hour_and_needs_the_standard_library_only() -> None:
    path = Path(textbook.__file__)
    assert len(path.read_text().splitlines()) <= 500
    # isolated and without site-packages, so that any other import fails
    command = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='textbook')"
    subprocess.run([sys.executable, "-I", "-S", "-c", command, path], check=True)


@pytest.mark.parametrize("weights", [(1, 1), (3, 1)])
def test_engine_and_textbook_agree_on_two_tenants_with_preemptions(weights: tuple[int, int]) -> None:
    jobs = [
        textbook.JobSpec(0, 3, 0, 3000),
        textbook.JobSpec(0, 2, 0, 2500),
        textbook.JobSpec(0, 1, 0, 4000),
        textbook.JobSpec(1, 2, 605, 1800),
        textbook.JobSpec(1, 1, 1203, 2500),
    ]
    expected = textbook.simulate(jobs, 2, 4, weights)
    frame = pd.DataFrame(jobs, columns=["tenant", "demand", "submit_time", "duration", "weight"])
    frame = frame.assign(job_id=range(len(jobs)), tenant=[f"t{t}" for t in frame["tenant"]])
    trace = Trace.from_frame(frame, weights={f"t{t}": w for t, w in enumerate(weights)})
    found = simulate(trace, Cluster(2, 4), "astraea").jobs
    assert sum(expected["preemptions"]) > 0
    for column, name in [("end_time", "end_time"), ("preemptions", "preemptions"), ("attained_service", "attained")]:
        assert found[column].tolist() == [float(value) for value in expected[name]]
    assert found["fair_service"].tolist() == pytest.approx([float(value) for value in expected["fair"]], rel=1e-12)
