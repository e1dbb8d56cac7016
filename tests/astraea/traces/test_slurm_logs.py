"""Slurm's logs as they come: by other versions, with wrong rows, mutated, and real."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from slurm_rows import HEAD, read, row
from trace_samples import sacct_entry

from astraea.core.errors import InputError
from astraea.traces.readers import read_trace, slurm


def test_json_of_newer_and_older_versions(tmp_path: Path) -> None:
    jobs = [
        sacct_entry(1, 110, 150),
        sacct_entry(2, 0, 0, state={"current": "PENDING"}),
        sacct_entry(4, 120, 130, array={"job_id": 3, "task_id": {"set": True, "infinite": False, "number": 0}}),
        sacct_entry(5, 120, 160, het={"job_id": 5, "job_offset": 0}),
        sacct_entry(6, 120, 160, het={"job_id": 5, "job_offset": 1}),
    ]
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"meta": {}, "jobs": jobs}))
    trace = read_trace(file)
    assert trace.frame[["job_id", "demand", "duration", "time_limit"]].to_numpy().tolist() == [
        ["1", 4, 40, 1800], ["3_0", 4, 10, 1800], ["5", 8, 40, 1800],
    ]  # fmt: skip
    assert trace.excluded_jobs["reason"].tolist() == [slurm.WAITS, slurm.PART]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (row("x1", 0, 1, 9), 'log.txt, line 2: JobID must be a number, as 12, 12_3, 12+1 or 12.batch, got "x1"'),
        (row("1", 0, 1, 9, state="DREAMING"), "line 2: State must be one of PENDING"),
        (row("1", 0, 1, 9).replace("12:00:01", "noon"), "line 2: Start must be a time YYYY-MM-DDTHH:MM:SS"),
        (row("1", 0, 9, 1), "line 2: End must be no time before Start"),
        (row("1", 0, 1, None), "line 2: End must be a time, as the job has ended"),
        (row("1", 0, 1, 9, limit="soon"), "line 2: TimelimitRaw must be a whole number of minutes, or UNLIMITED"),
        (row("1", 0, 1, 9) + "|more", "line 2: expected 14 columns, got 15; is there a | in a job's name?"),
        (row("1", 0, 1, 9, "gres/gpu=9999999"), "line 2: AllocTRES must be at most 1000000 GPUs"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, bad: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, bad)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def rows_of(file: Path) -> int:
    return sum(bool(line.strip()) for line in file.read_text().splitlines()) - 1


@pytest.mark.slow
@pytest.mark.parametrize("logs", [200, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_mutated_logs_lose_nothing(logs: int, tmp_path: Path) -> None:
    source = [
        row("1", 0, 10, 30, state="PREEMPTED"), row("1", 30, 50, 60), row("2", 5, 60, 90, "8", account="speech"),
        row("3", 6, None, None, state="PENDING"), row("4+0", 7, 90, 99), row("4+1", 7, 90, 99, "2"),
        row("5_1", 8, 91, 120), row("5_1.batch", 8, 91, 120), row("5_2", 8, 95, None, state="RUNNING"),
        row("6", 9, 100, 130, "cpu=4"), row("7", 9, None, 40, state="CANCELLED by 0"),
    ]  # fmt: skip
    rng = random.Random(7)
    text = "\n".join([HEAD, *source]) + "\n"
    alphabet = "0123456789|:-T_+.[]%,=ABCXYZabc /\n\t\0é" + "|" * 6
    file, read_well = tmp_path / "log.txt", 0
    for _ in range(logs):
        mutated = list(text)
        for _ in range(rng.choice((1, 1, 2, 5))):
            k = rng.randrange(len(HEAD) if rng.random() < 0.05 else 0, len(mutated))
            what = rng.random()
            if what < 0.5:
                mutated[k] = rng.choice(alphabet)
            elif what < 0.7:
                mutated[k : k + rng.randrange(1, 30)] = []
            elif what < 0.85:
                mutated[k:k] = rng.choice(source) + "\n"
            else:
                mutated[k:k] = mutated[k : k + rng.randrange(1, 60)]
        file.write_text("".join(mutated))
        try:
            trace = read_trace(file, format="slurm")
        except InputError as error:
            assert ("\n" not in str(error) and str(file) in str(error)) or "log:" in str(error)
            continue
        read_well += 1
        assert len(trace) + len(trace.excluded_jobs) == rows_of(file)
        assert trace.recorded is not None
        assert set(trace.recorded["job_id"]) == set(trace.job_id)
    assert read_well > logs / 10


def test_gpu_time_is_that_of_the_log(shared: Path) -> None:
    from astraea.cluster.cluster import Cluster
    from astraea.cluster.observed import observed

    log = shared / "reference" / "slurm" / "sacct.txt"
    expected: dict[str, float] = {}
    lines = log.read_text().splitlines()
    names = lines[0].split("|")
    for line in lines[1:]:
        fields = dict(zip(names, line.split("|"), strict=True))
        gpus = [part for part in fields["AllocTRES"].split(",") if part.startswith("gres/gpu=")]
        used = int(gpus[0].removeprefix("gres/gpu=")) * int(fields["ElapsedRaw"]) if gpus else 0
        expected[fields["Account"]] = expected.get(fields["Account"], 0) + used
    trace = read_trace(log, weights=log.with_name("sshare.txt"))
    found = observed(trace, Cluster(4, 8)).jobs.groupby("tenant")["attained_service"].sum()
    assert found.to_dict() == expected
