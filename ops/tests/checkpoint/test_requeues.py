"""A job requeues itself before its time ends, up to its limit."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from checkpoint_jobs import count, saved

from astraea_ops import checkpoint

SLURM = """#!/bin/sh
echo "$(basename $0) $*" >> {at}/called
case $(basename $0) in squeue) [ "$SLURM_TIME_FORMAT" = %s ] && echo {end} ;; scontrol) exit {status} ;; esac
"""


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A job of a Slurm that records its calls."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.delenv("SLURM_JOB_END_TIME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


def answers(at: Path, end: object = "", status: int = 0) -> None:
    for name in ("squeue", "scontrol"):
        (at / name).write_text(SLURM.format(at=at, end=end, status=status))
        (at / name).chmod(0o755)


def calls(at: Path) -> list[str]:
    return (at / "called").read_text().splitlines() if (at / "called").exists() else []


def leaves(folder: Path, requeues: int) -> bool:
    """Run two steps more, and return true if the job left before."""
    done = len(list(folder.glob("step-*"))) and max(int(path.name[5:15]) for path in folder.glob("step-*"))
    try:
        count(folder, done + 2, every=1000, requeues=requeues)
    except SystemExit as left:
        assert left.code == 143
        return True
    return False


@pytest.mark.parametrize("told", ["by the environment", "by squeue"])
def test_it_requeues_itself_so_often(told: str, slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = time.time() + 10  # less than is kept for Slurm's answer
    answers(slurm, f"{end:.0f}" if told == "by squeue" else "")
    if told == "by the environment":
        monkeypatch.setenv("SLURM_JOB_END_TIME", f"{end:.0f}")
    folder = slurm / "saves"
    assert [leaves(folder, 2) for _ in range(3)] == [True, True, False]
    assert calls(slurm).count("scontrol requeue 7") == 2
    assert calls(slurm).count("squeue -h -j 7 -o %e") == (2 if told == "by squeue" else 0)
    monkeypatch.setenv("SLURM_JOB_ID", "8")  # another job in the same folder counts from the beginning
    assert leaves(folder, 1)
    monkeypatch.setattr(time, "time", lambda: end - 1000)
    assert not leaves(folder, 2)


@pytest.mark.parametrize(
    ("end", "status", "has_left", "says"),
    [("N/A", 0, False, "job 7: its end is unknown"), ("", 0, False, "its end is unknown"),
     (1, 1, True, "job 7 could not be requeued")],
)  # fmt: skip
def test_slurm_refuses(
    end: object, status: int, has_left: bool, says: str, slurm: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answers(slurm, end, status)
    assert leaves(slurm / "saves", 1) == has_left
    assert says in caplog.text


def test_steps_that_leave_no_time_for_another(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps take 100 s: 500 s have room for four, and for Slurm's own time."""
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "time", lambda: clock[0])
    monkeypatch.setenv("SLURM_JOB_END_TIME", "1500")
    answers(slurm)
    with pytest.raises(SystemExit), checkpoint.checkpointed({}, 1000, slurm / "saves", requeues=1) as saves:
        for _ in saves.steps(9):
            clock[0] += 100
    assert saves.done == 4
    (slurm / "saves" / "requeued-7").unlink()
    assert saved(slurm / "saves") == [1, 4]
