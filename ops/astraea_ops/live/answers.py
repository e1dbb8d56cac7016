"""Parsed answers of Slurm's programs: jobs, nodes and runs.

Source: the manual pages of squeue, scontrol, sinfo and sacct (slurm.schedmd.com).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from astraea_ops.slurm.words import ENDED, REQUEUED, RUNNING, count_of, gres_of, hosts_of, number_of, state_of

ID: Final = re.compile(r"[1-9]\d{0,17}(_\d{1,9})?")
"""Id of a job, or of a task of an array."""

SAVES: Final = "checkpoint"
"""Word in a job's comment by which it promises to save its state on the notice, whose signal kills any other job."""

ON_GPUS: Final = (*RUNNING, "CONFIGURING")
"""States in which a job holds its GPUs."""

FINISHED: Final = (*ENDED, *(state for state in REQUEUED if state != "REQUEUED"))
"""States of a job that will not run again."""

_NOT_USABLE: Final = ("DOWN", "DRAIN", "FAIL", "NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "UNKNOWN", "ERROR",
                      "MAINT", "REBOOT", "FUTURE", "INVAL")  # fmt: skip
_ANOTHER_FORM: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that arise when JSON has another form."""

_MOST_TASKS: Final = 4_000_001
"""Tasks of an array: the largest MaxArraySize that Slurm accepts."""

_AFTER: Final = re.compile(r"after(any|ok|notok|corr):(?P<job>\d+(_\d+)?)(_\*)?\(unfulfilled\)")


class SlurmError(Exception):
    """A program of Slurm failed or did not answer in time; the message is one sentence."""


class Job(NamedTuple):
    """A job as Slurm shows it; times are seconds since 1970, 0 if unknown."""

    id: str  #: ``17``, or ``17_3`` for a task of an array
    partition: str  #: or several, joined by commas, while it waits
    account: str
    user: str
    qos: str
    state: str
    reason: str
    held: bool
    submit: float
    eligible: float
    start: float
    end: float
    demand: int  #: GPUs of the whole gang [GPU]
    nodes: int  #: at least
    per_node: int  #: GPUs that it asks for on each node, 0 if not given [GPU]
    on_nodes: Mapping[str, int]  #: GPUs that it holds, by node
    depends: bool  #: true if it depends on jobs that have not ended
    requeues: bool  #: true if it may be stopped and started again
    restarts: int
    saves: bool  #: true if it saves its state on the notice
    array: str  #: its array, empty if it is not a task of an array
    at_once: int  #: tasks of its array that may run at once, 0 without limit
    is_part: bool  #: true for a component of a heterogeneous job
    is_batch: bool = True  #: false for jobs of srun and salloc, which cannot be requeued
    wanted: tuple[str, ...] = ()  #: nodes that it must have
    unwanted: tuple[str, ...] = ()  #: nodes that it must not have
    priority: float = 0.0  #: as Slurm shows it
    time_limit: float = math.nan  #: [s], NaN without one

    @property
    def partitions(self) -> list[str]:
        """The partitions in which it may run."""
        return self.partition.split(",")


class Node(NamedTuple):
    """A node of some partitions."""

    name: str
    gpus: int
    is_usable: bool
    partitions: Sequence[str]


class Run(NamedTuple):
    """One run of a job from the accounting; times are seconds since 1970, 0 if not reached."""

    id: str
    account: str
    user: str
    qos: str
    state: str
    submit: float
    start: float
    end: float
    demand: int


def jobs_of(answer: Any) -> list[Job]:
    """Return the jobs of ``squeue --json``, of Slurm 22.05 and newer; `SlurmError` if it has another form."""
    try:
        found = [(str(entry.get("dependency") or ""), _jobs(entry)) for entry in answer["jobs"]]
        ends: dict[str, float] = {}
        for job in (job for _, jobs in found for job in jobs):
            for id in (job.id, job.array):
                ends[id] = max(ends.get(id, 0.0), job.end if job.state in FINISHED else math.inf)
        return [_after(job, text, ends) if text else job for text, jobs in found for job in jobs]
    except _ANOTHER_FORM as err:
        raise SlurmError(f"squeue --json: unknown format ({type(err).__name__}: {err})") from None


def nodes_of(answer: Any, partition: str) -> list[Node]:
    """Return the nodes of comma-separated partitions from ``scontrol show nodes --json``; `SlurmError` if it cannot."""
    names = partition.split(",")
    try:
        found = [_node(entry) for entry in answer["nodes"] if not set(names).isdisjoint(entry["partitions"])]
    except _ANOTHER_FORM as err:
        raise SlurmError(f"the list of nodes: unknown format ({type(err).__name__}: {err})") from None
    if sum(node.gpus for node in found) == 0:
        raise SlurmError(f"partition {partition!r} has no GPUs (see gres/gpu in AccountingStorageTRES and Gres)")
    return found


def runs_of(text: str) -> list[Run]:
    """Return the runs that ``sacct --parsable2`` printed."""
    found = []
    for line in text.splitlines():
        fields = line.split("|")
        if len(fields) != 10:
            raise SlurmError(f"sacct: expected 10 columns, got {len(fields)}")
        id, account, user, qos, state, submit, start, end, asked, given = fields
        if not ID.fullmatch(id):  # tasks that never became jobs, components of heterogeneous jobs
            continue
        try:
            came, began, ended = (float(int(t)) if t.isdecimal() else 0.0 for t in (submit, start, end))
            demand = count_of(given) or count_of(asked)
        except (OverflowError, ValueError) as err:
            raise SlurmError(f"sacct: job {id} has an invalid number ({err})") from None
        found.append(Run(id, account, user, qos, state.partition(" ")[0], came, began, ended, demand))
    return sorted(found, key=lambda run: (run.start, run.submit, run.id))


def _jobs(entry: Mapping[str, Any]) -> list[Job]:
    """Return one job, or the waiting tasks of an array, which Slurm shows as one entry."""
    raw, array, task = (_number(entry.get(name)) for name in ("job_id", "array_job_id", "array_task_id"))
    tasks = _tasks(str(entry.get("array_task_string") or ""))
    is_task = array > 0
    ids = [f"{array}_{k}" for k in tasks] if tasks else [f"{array}_{task}" if is_task else str(raw)]
    state = state_of(entry["job_state"])
    asked = str(entry.get("tres_alloc_str") or "") if state in ON_GPUS else ""
    is_batch = bool(entry.get("batch_flag", True))
    job = Job(
        id="",
        partition=_text(entry["partition"]),
        account=_text(entry.get("account")),
        user=_text(entry.get("user_name")),
        qos=_text(entry.get("qos")),
        state=state,
        reason=_text(entry.get("state_reason")),
        held=number_of(entry["priority"]) == 0,
        submit=float(_number(entry["submit_time"])),
        eligible=float(_number(entry["eligible_time"])),
        start=float(_number(entry["start_time"])),
        end=float(_number(entry["end_time"])),
        demand=count_of(asked) or count_of(str(entry.get("tres_req_str") or "")),
        nodes=max(1, _number(entry.get("node_count"))),
        per_node=gres_of(str(entry.get("tres_per_node") or "")),
        on_nodes=_on_nodes(entry) if state in ON_GPUS else {},
        depends=False,
        requeues=bool(entry.get("requeue")) and is_batch,
        restarts=_number(entry.get("restart_cnt")),
        saves=SAVES in re.split(r"\W+", str(entry.get("comment") or "")),
        array=str(array) if is_task else "",
        at_once=_number(entry.get("array_max_tasks")),
        is_part=_number(entry.get("het_job_id")) > 0,
        is_batch=is_batch,
        wanted=hosts_of(str(entry.get("required_nodes") or "")),
        unwanted=hosts_of(str(entry.get("excluded_nodes") or "")),
        priority=float(_number(entry["priority"])),
        time_limit=60.0 * (number_of(entry.get("time_limit")) or math.nan),
    )
    return [job._replace(id=id) for id in ids]


def _after(job: Job, text: str, ends: Mapping[str, float]) -> Job:
    """Return a job that depends on others: it can start after their ends, if Slurm shows that all have ended."""
    # Slurm checks the dependencies of a held job only once a minute; until then it shows them as unfulfilled
    afters = [_AFTER.fullmatch(part) for part in text.split(",")]
    until = max(ends.get(after["job"], 0.0) if after else math.inf for after in afters)
    return job._replace(depends=True) if until == math.inf else job._replace(eligible=max(job.eligible, until))


def _node(entry: Mapping[str, Any]) -> Node:
    states = {s.upper() for s in (*_words(entry["state"]), *_words(entry.get("state_flags") or []))}
    is_usable = not any(state.startswith(_NOT_USABLE) for state in states)
    partitions = tuple(map(str, entry["partitions"]))
    return Node(str(entry["name"]), count_of(str(entry.get("tres") or "")), is_usable, partitions)


def _number(value: Any) -> int:
    return number_of(value) or 0


def _text(value: Any) -> str:
    """Return a name as text; an unpaired surrogate, which JSON may contain but no file, becomes a question mark."""
    return str(value or "").encode("utf-8", "replace").decode("utf-8")


def _words(value: Any) -> list[str]:
    """Return one word or several as a list; since Slurm 23 a state is a list."""
    return [str(word) for word in value] if isinstance(value, list) else [str(value)]


def _on_nodes(entry: Mapping[str, Any]) -> dict[str, int]:
    """Return the GPUs of a job on each of its nodes; empty if Slurm does not show them."""
    there = entry.get("job_resources") or {}
    nodes = there.get("allocated_nodes") or (there.get("nodes") or {}).get("allocation") or []
    names = [str(node.get("nodename") or node.get("name") or "") for node in nodes]
    gpus = [gres_of(str(detail)) for detail in entry.get("gres_detail") or []]
    return dict(zip(names, gpus, strict=True)) if len(names) == len(gpus) else {}


def _tasks(text: str) -> Sequence[int]:
    """Return the waiting tasks of an array from a text such as ``1-3,7%2``, or ``0-8:4`` with a step."""
    found: list[int] = []
    for part in text.partition("%")[0].strip("[]").split(",") if text else ():
        first, _, rest = part.partition("-")
        last, _, step = rest.partition(":")
        tasks = range(int(first), int(last or first) + 1, int(step or 1))
        if len(tasks) + len(found) > _MOST_TASKS:
            raise ValueError(f"an array of more than {_MOST_TASKS} tasks")
        found.extend(tasks)
    return found
