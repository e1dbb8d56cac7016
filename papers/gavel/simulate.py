"""Entry point: `simulate(workload, throughputs, workers, policy)` ([Narayanan2020] §3, §5)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import pandas as pd

from astraea.core.checks import number, one_of, whole_number
from astraea.core.digest import digest_of
from astraea.core.errors import InputError, PolicyError
from astraea.core.result import Result, provenance
from papers.gavel import rounds as st
from papers.gavel.ideal import Fluid
from papers.gavel.policies import get_policy
from papers.gavel.policy_calls import PolicyCaller, Speeds, checked_workers, shown_workers
from papers.gavel.problem import Allocator
from papers.gavel.record import grant_table, job_table, timeline_table
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload

OPTIMA: Final = ("largest-sum", "central")
"""Choices among many optimal X: the one with the largest sum of relative throughputs, or the center of all, near which
an interior-point solver ends."""


@dataclass(frozen=True)
class Options:
    """Rules by which time is shared out: by default those of the paper's §5; `AS_RELEASED` has those of the program.

    The program is solved again when jobs came or went and `solve_interval` has passed, or when nothing can run. A job
    that ran before and now starts elsewhere makes no progress for `preemption_overhead`: loading and saving a
    checkpoint takes less than 5 s ([Narayanan2020] §7.5). `by_type`, `leftovers`, `lost_rounds`, `refill` and `by_part`
    are told in `rounds`. With `early_deadlines` policies are told of deadlines by a round and the time between two
    solves earlier: a program meets them to the second, rounds meet its shares on average. An `ideal` run has no rounds,
    see `ideal`.
    """

    round_length: float = 360.0  # [s] ([Narayanan2020] §7.1)
    solve_interval: float = 1920.0  # [s]
    preemption_overhead: float = 5.0  # [s]
    optimum: str = "largest-sum"  # one of `OPTIMA`
    by_type: bool = False
    leftovers: bool = False
    lost_rounds: bool = False
    refill: bool = False
    by_part: bool = True
    early_deadlines: bool = True
    ideal: bool = False
    until: int | None = None  # end when the first so many jobs have ended; the result is about them; None: all

    def __post_init__(self) -> None:
        upto = "0 and up to 1e9 s"
        number(self.round_length, "round_length", above=0, most=1e9, expected=f"a time above {upto}")
        number(self.solve_interval, "solve_interval", least=0, most=1e9, expected=f"a time from {upto}")
        number(self.preemption_overhead, "preemption_overhead", least=0, most=1e9, expected=f"a time from {upto}")
        if self.preemption_overhead >= self.round_length:
            raise InputError(
                f"preemption_overhead must be below round_length ({self.round_length:g} s), otherwise a preempted "
                f"job makes no progress; got {self.preemption_overhead:g}"
            )
        one_of(self.optimum, OPTIMA, "optimum")
        if self.until is not None:
            whole_number(self.until, "until", 1)


AS_RELEASED: Final = Options(
    preemption_overhead=0.0, optimum="central", by_type=True, leftovers=True, lost_rounds=True, by_part=False,
    early_deadlines=False,
)
"""Gavel's released program."""


def simulate(
    workload: Workload, throughputs: Throughputs, workers: Sequence[int], policy: Allocator | str,
    options: Options | None = None, *, believed: Throughputs | None = None, keep_log: bool = False, **changes: Any,
) -> Result:  # fmt: skip
    """Run a workload on a cluster of several accelerator types under a policy, in rounds.

    `workers` are the GPUs of each of `throughputs.types`; `changes` are options by name, instead of those in `options`.
    The policy is told the speeds `believed`, such as estimates of pairs, or the truth if they are not given; a pair
    that turns out unable to share is not run. The jobs of the result are those of `record.job_table`; with `keep_log`
    it has the times at which each held workers, `record.grant_table`.
    `InputError` if an option is out of range, or a job can run on no type; `PolicyError` if the policy's answer cannot
    be used, or leaves jobs waiting in an idle cluster for ever.
    """
    policy = get_policy(policy) if isinstance(policy, str) else policy
    options = replace(options or Options(), **changes)
    target = len(workload) if options.until is None else options.until
    if target > len(workload):
        raise InputError(
            f"until must be at most the number of jobs in {workload.name}, {len(workload)}; got {options.until}"
        )
    count = checked_workers(workers, throughputs.types)
    speeds = Speeds(workload, throughputs, count)
    told = speeds if believed is None else Speeds(workload, believed, count)
    margin = options.solve_interval + options.round_length if options.early_deadlines and not options.ideal else 0.0
    caller = PolicyCaller(policy, workload, speeds, told, optimum=options.optimum, margin=margin)
    rules = st.Rules(
        float(options.round_length), float(options.solve_interval), float(options.preemption_overhead), target,
        options.by_type, options.leftovers and not policy.leaves_idle, options.lost_rounds, options.refill,
        options.by_part,
    )  # fmt: skip
    s = st.new_state(
        workload.arrival_time, workload.total_steps, workload.scale_factor, speeds.alone, count,
        shuffled=options.by_type and not policy.knows_speeds,
    )  # fmt: skip
    run = Fluid(s) if options.ideal else st.run
    began = time.perf_counter()
    while (outcome := run(s, rules)) != st.DONE:
        if outcome == st.SOLVE:
            s = caller.solve(s, rules)
        elif outcome == st.LOG_FULL:
            s = st.with_longer_log(s)
        else:
            waiting = s.queue[: s.active]
            raise PolicyError(
                f"policy {policy.name}, at {s.now:g} s: leaves job {workload.job_id[waiting[0]]!r} and "
                f"{len(waiting) - 1} more waiting in an idle cluster for ever"
            )
    seconds = time.perf_counter() - began
    s.log.end[s.jobs.row[s.jobs.row >= 0]] = s.now
    s = s._replace(log=st.Log._make(column[: s.logged] for column in s.log))
    jobs = job_table(workload, s, count, caller.prices).iloc[:target]
    inputs = {
        "trace": workload.name,
        "trace_sha256": workload_digest(workload),
        "nodes": int(count.sum()),
        "gpus_per_node": 1,
        "workers": shown_workers(throughputs.types, count),
        "policy": policy.name,
        "parameters": {**asdict(options), "solves": caller.solves},
    }
    return Result(
        jobs=jobs,
        excluded_jobs=pd.DataFrame(columns=["job_id", "tenant", "demand", "duration", "reason"]),
        timeline=timeline_table(workload, s, count, float(jobs["end_time"].max())),
        grants=grant_table(workload, s.log) if keep_log else None,
        provenance=provenance(inputs, "numpy", "numba", "pandas", "scipy", "highspy"),
        seconds=seconds,
    )


def workload_digest(w: Workload) -> str:
    """SHA-256 of the jobs."""
    read = (
        "job_id", "job_type", "scale_factor", "total_steps", "arrival_time", "weight", "slo", "entity", "entity_weight",
    )  # fmt: skip
    return digest_of(**{name: getattr(w, name) for name in read})
