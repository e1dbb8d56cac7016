"""Python jobs that save, on a real Slurm: notices by any signal, stops, and requeues by the job itself."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from live_slurm import CONFIG, RealSlurm, Site, local_slurm, said, until
from places import OPS, ROOT

NAMES = ("one", "two", "three")

pytestmark = pytest.mark.slurm

TRAIN = """
import logging, os, sys, time
from multiprocessing import get_context
from astraea_ops.checkpoint import checkpointed

def answer(pipe):
    while True:
        pipe.send(pipe.recv())

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    ours, theirs = get_context("spawn").Pipe()
    answered = -1
    with checkpointed({{}}, 1000, signal="USR2", requeues={requeues}) as saves:
        get_context("spawn").Process(target=answer, args=(theirs,), daemon=True).start()
        for step in saves.steps({steps}):
            ours.send(step)
            time.sleep(0.5)
            while ours.poll():
                answered = ours.recv()
            print("rank", os.environ.get("SLURM_PROCID", 0), "step", step, "helper", answered, flush=True)
"""


def submit(at: Path, name: str, launcher: str, *options: str) -> str:
    """Submit a job; its id."""
    script = f"#!/bin/bash\ntrap '' USR2\nexport PYTHONPATH={ROOT}:{OPS}\n{launcher} {sys.executable} train.py\n"
    (at / f"{name}.sbatch").write_text(script)
    return said(
        "sbatch", "--parsable", "--requeue", "--open-mode=append", "-o", f"{name}.out", "-D", str(at),
        "--comment=checkpoint", *options, f"{name}.sbatch",
    )  # fmt: skip


def steps(text: str, rank: int = 0) -> list[int]:
    return [int(step) for step in re.findall(rf"rank {rank} step (\d+)", text)]


def test_no_step_is_lost_under_leases(site: Callable[..., Site]) -> None:
    """Three jobs take turns on GPUs for two; each finishes its step when it is stopped, or requeues itself.

    A job needs 25 s, and the first stop comes 18 s after the first start: at least one job is stopped in its midst.
    """
    here = site(config='signal = "USR2"\n' + CONFIG)
    (here.at / "train.py").write_text(TRAIN.format(requeues=1, steps=50))
    end = "[ $SLURM_RESTART_COUNT ] || export SLURM_JOB_END_TIME=$(($(date +%s) + 18))\nexec"  # 3 s after it began
    here.start()
    options = ("-p", "gpu", "-A", "a", "--gres=gpu:4")
    ids = [submit(here.at, name, end if name == "one" else "exec", *options) for name in NAMES]
    until("all have ended", 240, lambda: not said("squeue", "-h", "-j", ",".join(ids), "-o", "%i"))
    texts = [(here.at / f"{name}.out").read_text() for name in NAMES]
    assert [steps(text) for text in texts] == [[*range(50)]] * len(NAMES)
    assert [file.parent.name for file in here.at.glob("checkpoints/*/requeued-*")] == ids[:1]
    left = [text.count("leaving after step") for text in texts]
    by_lease = [count - (name == "one") for name, count in zip(NAMES, left, strict=True)]  # one has requeued itself
    assert sum(by_lease) > 0
    for text, count, lost in zip(texts, left, by_lease, strict=True):
        # after the first and last step, at each stop, and, as the job had been told of the end of its lease, before
        assert text.count(": saved") >= 2 + count + (lost > 0)


def test_a_job_requeues_itself_and_helpers_survive_what_slurm_sends_them(real_slurm: RealSlurm, tmp_path: Path) -> None:
    """Without leases; all processes of a step are told at once, and the second run goes up to the limit."""
    os.chmod(tmp_path, 0o777)
    (tmp_path / "train.py").write_text(TRAIN.format(requeues=1, steps=10_000))
    id = submit(tmp_path, "job", "exec srun", "-p", "other", "-A", "c", "-n", "2", "-t", "1")
    out = tmp_path / "job.out"
    until("it has begun", 60, lambda: out.exists() and len(steps(out.read_text())) > 3)
    local_slurm.run("scancel", "--signal=USR2", id)
    until("its second run ends", 240, lambda: not said("squeue", "-h", "-j", id, "-o", "%i"))
    text = out.read_text()
    before, _, later = text.partition("JOB REQUEUE")
    assert later.count("restored") == 2, text  # both ranks; before, a rank that begins late may find the first save
    assert text.count("leaving after step") == 4, text
    assert (tmp_path / "checkpoints" / id / f"requeued-{id}").read_bytes() == b"."
    assert len(list((tmp_path / "checkpoints" / id).glob("step-*"))) == 2
    assert steps(text) == [*range(len(steps(text)))]
    told = steps(before)[-2]
    assert f"step {told} helper {told}" in text  # long after the notice
