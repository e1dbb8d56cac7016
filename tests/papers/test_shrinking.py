"""Searching and shrinking, on numbers and on small workloads of Themis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from papers.shrinking import MARGIN, reversal, shrunk
from papers.themis.study import falsifier as themis
from papers.themis.study import pictures as themis_pictures


def lower(n: int) -> Iterator[int]:
    yield from (n // 2, n - 1) if n else ()


def test_shrinking_ends_where_nothing_smaller_fails() -> None:
    assert shrunk(100, lambda n: n >= 13, lower) == 13
    assert shrunk(100, lambda n: n % 7 == 2, lower) == 100  # 50 and 99 do not fail
    assert shrunk(3, lambda n: True, lower) == 0


def test_counts_and_the_smallest_of_several_starts() -> None:
    leads = {4: 1.0, 9: 1.0, 5: 0.0, 6: -1.0, 7: float("nan"), 2: MARGIN / 2}
    counts, found = reversal([9, 4, 5, 6, 7, 2], lambda n: leads.get(n, -1.0), lower, int, starts=1)
    assert counts == {"instances": 6, "behind": 2, "equal": 2, "ahead": 1}
    assert found == [4]  # the smaller start
    assert reversal([9, 4], lambda n: float(n > 2), lower, lambda n: -n, starts=2)[1] == [3, 3]
    assert reversal([5, 6], lambda n: leads[n], lower, int, starts=1)[1] == []


@pytest.mark.parametrize(
    ("module", "rivals", "drawn"),
    [(themis, themis.RIVALS, themis.random_explorations)],
)
def test_systems_with_their_own_workloads(module: ModuleType, rivals: Iterable[str], drawn: Any) -> None:
    some = [drawn(seed) for seed in range(40)]
    for x in some[:10]:
        assert all(y.size < x.size for y in module.smaller(x))
    reversed_by = 0
    for rival in rivals:

        def lead(w: Any, rival: str = rival) -> float:
            return float(np.subtract(*module.values(rival, w)))

        counts, small = reversal(some, lead, module.smaller, attrgetter("size"), 1)
        row = module.reversals(rival, 40, 1).iloc[0]
        assert row[[*counts]].to_dict() == counts
        assert len(small) == (counts["behind"] > 0)
        if not small:
            continue
        w, reversed_by = small[0], reversed_by + 1
        assert module.instance_of(row) == w
        assert row["ours"] - row["other"] == pytest.approx(lead(w)) and row["workload"] == w.text
        assert lead(w) > MARGIN
        assert not any(lead(x) > MARGIN for x in module.smaller(w))
    assert reversed_by >= 2


@pytest.mark.parametrize(
    ("module", "found", "draw", "titles"),
    [
        (themis, {"rival": themis.KNOB, "instance": "[[2, 2], [[0, 1, 0, [2]], [1, 2, 0, [1, 2]]]]"},
         themis_pictures.reversals, ["Themis, f = 0: 2.014 GPU-h", "Themis, f = 1: 2.011 GPU-h"]),
    ],
)  # fmt: skip
def test_a_picture_has_both_schedules_on_one_axis_of_time(
    module: ModuleType, found: dict[str, Any], draw: Callable[[pd.DataFrame], Figure], titles: list[str]
) -> None:
    ours, other = module.values(found["rival"], module.instance_of(pd.Series(found)))
    fig = draw(pd.DataFrame([{**found, "ours": ours, "other": other, "behind": 1, "instances": 9}]))
    left, right, text = fig.axes
    assert [left.get_title(), right.get_title()] == titles
    assert left.get_xlim() == right.get_xlim() and left.patches and right.patches
    assert "reversed in 1 of 9 random" in " ".join(text.texts[0].get_text().split())
    plt.close(fig)
