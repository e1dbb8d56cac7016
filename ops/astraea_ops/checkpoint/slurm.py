"""The running job in Slurm: the folder of its saves, the end of its time, and its requeues."""

from __future__ import annotations

import logging
import math
import os
import subprocess
from pathlib import Path
from typing import Final

log = logging.getLogger(__package__)

RESERVE: Final = 15.0
"""Time left of an allocation when a job requeues itself: Slurm needs time to answer [s]."""


def folder_of_job() -> Path:
    """Return the folder of this job's saves, the same after a requeue."""
    job = os.environ.get("SLURM_JOB_ID", "local")
    if array := os.environ.get("SLURM_ARRAY_JOB_ID"):
        job = f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    return Path("checkpoints", job)


class Requeues:
    """The requeues of this job: at most `most`, counted in `folder`; Slurm's own count includes ends of leases."""

    def __init__(self, folder: Path, most: int) -> None:
        self._job = os.environ.get("SLURM_JOB_ID", "")
        self._count = folder / f"requeued-{self._job}"  # one byte per requeue
        were = self._count.stat().st_size if self._count.exists() else 0
        self.end = _end_of_job(self._job) if self._job and were < most else math.inf  #: of the job, seconds since 1970

    def requeue(self) -> None:
        """Have Slurm start this job again, and count it."""
        try:
            with open(self._count, "ab") as count:
                count.write(b".")
            _slurm("scontrol", "requeue", self._job)
        except (OSError, subprocess.SubprocessError) as err:
            log.error("%s: job %s could not be requeued (%s)", self._count.parent, self._job, err)


def _end_of_job(job: str) -> float:
    """Return the time at which Slurm ends a job, in seconds since 1970."""
    try:
        return float(os.environ.get("SLURM_JOB_END_TIME") or _slurm("squeue", "-h", "-j", job, "-o", "%e"))
    except (OSError, subprocess.SubprocessError, ValueError) as err:
        log.warning("job %s: its end is unknown, so it does not requeue itself (%s)", job, err)
        return math.inf


def _slurm(*command: str) -> str:
    """Call a program of Slurm; `SubprocessError` if it fails."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=RESERVE, env={**os.environ, "SLURM_TIME_FORMAT": "%s"}
    )
    if done.returncode != 0:
        raise subprocess.SubprocessError(done.stderr.strip())
    return done.stdout
