"""Jobs that depend on others can have a lease as soon as those have ended, not only when Slurm looks for that."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from live_slurm import Site, said, until
from pretended_slurm import queue_entry

from astraea_ops.live.answers import jobs_of
from astraea_ops.live.slurm import Slurm

ENDED = [
    queue_entry(1, job_state="COMPLETED", end_time=2**31), queue_entry(2, job_state=["FAILED"]),
    queue_entry(11, array_job_id=10, array_task_id=1, job_state="COMPLETED"),
    queue_entry(21, array_job_id=20, array_task_id=1, job_state="COMPLETED"),
]  # fmt: skip
OTHERS = [
    queue_entry(3, job_state="RUNNING"), queue_entry(4, job_state=["COMPLETED", "COMPLETING"]),
    queue_entry(20, array_job_id=20, array_task_string="2-5"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("", False), ("afterok:1(unfulfilled)", False), ("afternotok:1(unfulfilled)", False),
        ("afterany:1(unfulfilled),afterok:2(unfulfilled)", False), ("afterok:10_*(unfulfilled)", False),
        ("aftercorr:10_*(unfulfilled)", False), ("afterok:20_1(unfulfilled)", False),
        ("afterok:99(unfulfilled)", False),  # it ended so long ago that it is not shown
        ("afterok:3(unfulfilled)", True), ("afterok:4(unfulfilled)", True), ("afterok:20_*(unfulfilled)", True),
        ("afterok:20_3(unfulfilled)", True), ("afterany:1(unfulfilled),afterok:3(unfulfilled)", True),
        ("afterok:2(failed)", True),  # for ever
        ("afterok:1(unfulfilled)?afterok:3(unfulfilled)", True), ("after:1+10(unfulfilled)", True),
        ("singleton(unfulfilled)", True), ("afterburstbuffer:1(unfulfilled)", True),
    ],
)  # fmt: skip
def test_what_has_ended_is_not_waited_for(text: str, waits: bool) -> None:
    *_, job = jobs_of({"jobs": [*ENDED, *OTHERS, queue_entry(30, dependency=text)]})
    assert (job.id, job.depends) == ("30", waits)
    assert (job.eligible == 2**31) == (":1(" in text and not waits)  # nothing is owed to it before


@pytest.mark.slurm
def test_every_slurm_writes_dependencies_so(site: Callable[..., Site]) -> None:
    site()

    def submit(*options: str, what: str = "sleep 60") -> str:
        return said("sbatch", "--parsable", "-A", "a", "-o", "/dev/null", *options, "--wrap", what)

    first = [submit("-p", "other", what="sleep 3"), submit("-p", "other", "--array=1-2", what="sleep 3")]
    ids = [submit("--gres=gpu:1", f"--dependency=afterok:{id}") for id in first]
    ids.append(submit("--gres=gpu:1", f"--dependency=afterany:{first[0]}:{first[1]}"))

    def that_depend() -> list[str]:
        return [job.id for job in Slurm("gpu").jobs() if job.depends]

    assert that_depend() == ids or that_depend() == ids[::-1]
    until("they have ended", 30, lambda: not said("squeue", "-h", "-p", "other", "-o", "%i"))
    assert that_depend() == []
