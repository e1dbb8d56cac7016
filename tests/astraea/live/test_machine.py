"""A search for what breaks the coordinator: whatever happens in Slurm, in any order, and whenever it is killed."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import rule, run_state_machine_as_test
from live_life import GPUS, INTERVAL
from live_users import Users


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
    """Look for a life in which something does not hold; return what the search came to."""
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


@pytest.mark.exhaustive
@pytest.mark.parametrize("life", [Users, UnsteadyClock])
def test_many_lives(life: type[Users]) -> None:
    seen = search(life, 500, 40, is_fixed=False)
    assert seen["leases"] >= 2000, seen
