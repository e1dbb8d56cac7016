"""A search for events that break the coordinator: anything in Slurm, in any order, with kills at any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import precondition, rule, run_state_machine_as_test
from live_life import DEMANDS, GPUS, INTERVAL, NAMES, Life

from astraea_ops.live.answers import FINISHED, ON_GPUS, Job

PENDING, RUNNING = ("PENDING",), ("RUNNING",)


def can_forget(life: Users, one: Job) -> bool:
    """Slurm shows a job for longer than a round."""
    has_had = any(id == one.id for id, *_ in life.slurm.had)
    return one.id in life.known() or not has_had


def can_rename(life: Users, one: Job) -> bool:
    """Return true if the job is admitted as it is; otherwise it would be admitted again, with another tenant."""
    is_as_known = life.known().get(one.id) == one.demand and one.partition == "gpu"
    return is_as_known and one.id not in life.slurm.left_to_slurm


def has_its_name(life: Users, one: Job) -> bool:
    return life.slurm.tenant[one.id] == one.account


def acts(states: Collection[str], which: Callable[[Users, Job], bool] | None = None, **values: Any) -> Any:
    """A rule that acts on one of some jobs, available if there are any."""

    def jobs(life: Users) -> list[Job]:
        return [j for j in life.slurm.all.values() if j.state in states and (which is None or which(life, j))]

    def made(act: Any) -> Any:
        def rule_of(self: Users, which_one: int, **drawn: Any) -> None:
            found = jobs(self)
            act(self, found[which_one % len(found)], **drawn)

        rule_of.__name__, rule_of.__doc__ = act.__name__, act.__doc__
        return precondition(jobs)(rule(which_one=st.integers(0, 7), **values)(rule_of))

    return made


class Users(Life):
    """A life with users who do everything that Slurm allows, on machines that fail."""

    @precondition(lambda self: self.free())
    @rule(name=NAMES, demand=DEMANDS, spread=st.booleans(), held=st.sampled_from([True, True, False]),
          requeues=st.integers(0, 3))  # fmt: skip
    def submit(self, name: str, demand: int, spread: bool, held: bool, requeues: int) -> None:
        per_node = 0 if spread else demand if demand <= 4 else demand // 2
        self.take(account=name, demand=demand, per_node=per_node, held=held, requeues=requeues > 0)

    @precondition(lambda self: self.free())
    @rule(held=st.booleans(), how=st.sampled_from([{"demand": 0}, {"is_part": True}, {"partition": "other"}]))
    def submit_to_slurm(self, held: bool, how: dict[str, object]) -> None:
        self.take(held=held, **how)

    @acts(RUNNING, state=st.sampled_from(["COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL"]))
    def end(self, one: Job, state: str) -> None:
        self.slurm.end(one.id, state)

    @acts(PENDING)
    def cancel(self, one: Job) -> None:
        self.slurm.end(one.id, "CANCELLED")

    @acts(FINISHED, can_forget)
    def forget(self, one: Job) -> None:
        """Slurm no longer shows a job that has ended."""
        del self.slurm.all[one.id]

    def doubt(self, one: Job, most: int) -> None:
        """The accounts learn of an event only at the next round."""
        self.slurm.doubt[self.slurm.tenant[one.id]] += most

    @acts(RUNNING, lambda _, one: one.requeues, held=st.booleans(), wait=st.sampled_from([0, 120]))
    def requeue(self, one: Job, held: bool, wait: int) -> None:
        self.slurm.stop(one.id, held=held, wait=wait)
        self.doubt(one, one.demand * INTERVAL)

    @acts(PENDING + RUNNING, can_rename, field=st.sampled_from(["account", "user", "qos"]), name=NAMES)
    def rename(self, one: Job, field: str, name: str) -> None:
        self.slurm.change(one.id, **{field: name})

    @acts(PENDING + RUNNING, lambda life, one: one.demand > 0 and has_its_name(life, one), demand=DEMANDS)
    def resize(self, one: Job, demand: int) -> None:
        if one.state == "RUNNING":
            demand = min(demand, one.demand)  # it can only shrink
        self.doubt(one, INTERVAL * 2 * max(demand, one.demand))
        self.slurm.change(one.id, demand=demand, per_node=0)
        if one.state == "RUNNING":
            nodes, left = dict[str, int](), demand
            for name, gpus in one.on_nodes.items():
                nodes[name] = min(gpus, left)
                left -= nodes[name]
            self.slurm.change(one.id, on_nodes={n: g for n, g in nodes.items() if g})

    @acts(PENDING, has_its_name, partition=st.sampled_from(["gpu", "other"]))
    def move(self, one: Job, partition: str) -> None:
        self.slurm.change(one.id, partition=partition)

    @acts(PENDING, depends=st.booleans(), wait=st.sampled_from([0, 15, 60]))
    def keep_back(self, one: Job, depends: bool, wait: int) -> None:
        self.slurm.change(one.id, depends=depends, eligible=self.clock.now + wait)

    @acts(PENDING, held=st.booleans())
    def hold(self, one: Job, held: bool) -> None:
        self.slurm.change(one.id, held=held)
        self.slurm.start_all()

    # machines

    @rule(name=st.sampled_from(["n1", "n2"]), how=st.sampled_from(["fails", "drains", "leaves"]))
    def lose_node(self, name: str, how: str) -> None:
        if name not in self.slurm.size:
            return
        self.slurm.usable[name] = False
        for one in list(self.slurm.all.values()):
            if how != "drains" and one.state in ON_GPUS and name in one.on_nodes:
                if one.requeues:
                    self.slurm.stop(one.id, held=False)
                    self.doubt(one, one.demand * INTERVAL)
                else:
                    self.slurm.end(one.id, "NODE_FAIL")
        if how == "leaves":
            del self.slurm.size[name]

    @precondition(lambda self: not all(self.slurm.usable.values()))
    @rule(name=st.sampled_from(["n1", "n2"]))
    def mend_node(self, name: str) -> None:
        self.slurm.size[name] = 4
        self.slurm.usable[name] = True
        self.slurm.start_all()


class UnsteadyClock(Users):
    """A life with clocks that differ or are set back, and a coordinator that sleeps: GPU-time is compared roughly."""

    @rule(seconds=st.sampled_from([60, 400, 4000]))
    def nobody_looks(self, seconds: int) -> None:
        self.slurm.doubt[""] += GPUS * seconds
        self.slurm.pass_on(seconds)

    @rule(seconds=st.integers(-20, 20))
    def clocks_differ(self, seconds: int) -> None:
        self.slurm.doubt[""] += 4 * GPUS * (abs(seconds - self.slurm.ahead) + INTERVAL)
        self.slurm.ahead = float(seconds)

    def have_round(self) -> None:
        self.slurm.doubt[""] += 4 * GPUS * abs(self.slurm.ahead)
        super().have_round()

    @rule(seconds=st.integers(1, 25))
    def clock_steps_back(self, seconds: int) -> None:
        self.slurm.doubt[""] += 2 * GPUS * (seconds + INTERVAL)
        self.clock.now -= seconds


def search(life: type[Users], examples: int, steps: int, *, is_fixed: bool) -> Counter[str]:
    """Search for a life in which a check fails; return the counts of the search."""
    life.seen = Counter()
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        life,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, derandomize=is_fixed, database=None, deadline=None,
            print_blob=True, suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        ),
    )  # fmt: skip
    return life.seen


def test_some_lives() -> None:
    seen = search(Users, 16, 25, is_fixed=True)
    assert seen["leases"] >= 40, seen
    assert seen["exact"] >= 20, seen


def test_some_lives_with_an_unsteady_clock() -> None:
    seen = search(UnsteadyClock, 6, 20, is_fixed=True)
    assert seen["leases"] >= 8, seen


BACK = ("clock_steps_back", {"seconds": 11})


@pytest.mark.parametrize(
    "steps",
    [
        [BACK, ("disk_is_full", {"times": 1}), ("rounds", {"times": 4})],
        [BACK, ("disk_is_full", {"times": 2}), ("end", {"state": "COMPLETED", "which_one": 0}), ("kill", {}),
         ("end", {"state": "COMPLETED", "which_one": 0}), ("rounds", {"times": 1})],
        [BACK, BACK, ("disk_is_full", {"times": 3}), ("kill", {}), ("lose_node", {"how": "fails", "name": "n1"}),
         ("move", {"partition": "other", "which_one": 0}), ("disk_is_full", {"times": 1})],
    ],
    ids=["started before its grant", "ended before all rounds", "started before it came"],
)  # fmt: skip
def test_lives_in_which_the_clock_was_set_back(steps: list[tuple[str, dict[str, Any]]]) -> None:
    life = UnsteadyClock()
    try:
        life.begin(weights={}, jobs=[("a", 1), ("a", 1)])
        for name, given in steps:
            getattr(life, name)(**given)
    finally:
        life.teardown()


@pytest.mark.exhaustive
@pytest.mark.parametrize("life", [Users, UnsteadyClock])
def test_many_lives(life: type[Users]) -> None:
    seen = search(life, 500, 40, is_fixed=False)
    assert seen["leases"] >= 2000, seen
