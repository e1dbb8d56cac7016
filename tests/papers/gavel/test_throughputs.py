"""Throughputs of Gavel: the authors' file, the compact table, and the estimator of pairs ([Narayanan2020] §3.3, §6)."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gavel_small import pair

from astraea.core.errors import InputError
from astraea.traces.sources import SOURCES
from papers.gavel.throughputs.estimator import Estimator, complete
from papers.gavel.throughputs.table import Throughputs

A1, A2, B1 = "('A', 1)", "('A', 2)", "('B', 1)"
TABLE: dict[str, Any] = {
    "k80": {A1: {"null": 1, A1: [0.5, 0.5], B1: [0.25, 1.5]}, B1: {"null": 2, A1: [1.5, 0.25]}, A2: {"null": 0}},
    "p100": {A1: {"null": 3, B1: [0, 0]}, B1: {"null": 4}, A2: {"null": 5.5}},
    "v100": {A1: {"null": 6, B1: [4, 5]}, B1: {"null": 7}, A2: {"null": 11, A2: [7, 8]}},
    "v100_unconsolidated": {A1: {"null": 99}, A2: {"null": 9}},
}
COMPACT = Throughputs.compact()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "speeds.json"


def read(path: Path, content: Any) -> Throughputs:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return Throughputs.read(path)


@pytest.fixture(scope="module")
def measured(shared: Path) -> Throughputs:
    return Throughputs.read(shared / "data" / "gavel" / "simulation_throughputs.json")


def refused(call: Callable[[], Any]) -> str:
    """The message, which must be one sentence on one line."""
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_small_file(path: Path) -> None:
    t = read(path, TABLE)
    assert t.types == ("v100", "p100", "k80")
    assert t.job_types == ("A", "B")
    assert t.alone("A", 1).tolist() == [6, 3, 1]
    assert t.alone("A", 2).tolist() == [11, 5.5, 0]
    assert t.alone("A", 2, consolidated=False).tolist() == [9, 0, 0]  # not measured there on the other types
    assert t.alone("A", 1, consolidated=False).tolist() == [6, 3, 1]  # one GPU has nothing to consolidate
    assert pair(t, ("A", 1), ("B", 1)).tolist() == [[4, 0, 0.25], [5, 0, 1.5]]
    assert pair(t, ("B", 1), ("A", 1)).tolist() == [[5, 0, 1.5], [4, 0, 0.25]]
    assert pair(t, ("A", 2), ("A", 2)).tolist() == [[7, 0, 0], [8, 0, 0]]
    assert not pair(t, ("A", 1), ("A", 2)).any()  # gangs of different sizes never share
    assert [t.type_index(name) for name in t.types] == [0, 1, 2]


def test_what_was_never_measured_is_said(path: Path) -> None:
    t = read(path, TABLE)
    assert refused(lambda: t.alone("C", 1)) == f"{path}: unknown job type 'C'; known are A, B"
    assert refused(lambda: t.alone("A", 4)) == f"{path}: 'A' was not measured on a gang of 4 GPUs, only of 1, 2"
    never = refused(lambda: pair(t, ("B", 1), ("B", 1)))
    assert never == f"{path}: ('B', 1) and ('B', 1) were never measured on the same GPUs"
    assert refused(lambda: t.type_index("a100")).endswith("accelerator must be one of v100, p100, k80, got 'a100'")
    t = read(path, {name: entries for name, entries in TABLE.items() if name != "v100_unconsolidated"})
    assert "('A', 2) was never measured unconsolidated" in refused(lambda: t.alone("A", 2, consolidated=False))
    path.unlink()
    hint = "get it with `astraea data fetch gavel-throughputs`"
    assert refused(lambda: Throughputs.read(path)).endswith(f"there is no such file of measured throughputs; {hint}")


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ((), "{", ": not JSON"),
        ((), "[" * 100_000, ": not JSON"),
        ((), "", ": the file is empty"),
        ((), [], ": expected an object with the accelerators v100, p100, k80, got []"),
        ((), {}, ": accelerator 'v100' is missing; found none"),
        ((), '{"v100": {}, "v100": {}}', ": not JSON (key v100 is there twice)"),
        (("a100",), {}, ": unknown accelerator 'a100'; expected one of v100, p100, k80, v100_unconsolidated"),
        (("p100",), [], ", p100: expected an object with the throughputs of job types, got []"),
        (("p100", "('A', 0)"), {"null": 1}, ", p100: a key must be \"('job type', scale factor)\", got ('A', 0)"),
        (("p100", A1), 5, f", p100, {A1}: expected an object with the throughput alone under null, got 5"),
        (("p100", A1), {B1: [1, 1]}, f", p100, {A1}: expected an object with the throughput alone under null"),
        (("p100", A1, "null"), -1, f", p100, {A1}: null must be steps/s of at least 0, got -1"),
        (("p100", A1, "null"), True, f", p100, {A1}: null must be steps/s of at least 0, got True"),
        (("p100", A1, "null"), float("nan"), f", p100, {A1}: null must be steps/s of at least 0, got nan"),
        (("p100", A1, "B"), [1, 1], f", p100, {A1}: a key must be"),
        (("p100", A1, "('C', 1)"), [1, 1], f", p100, {A1}: ('C', 1) is unknown, it has no entry of its own"),
        (("p100", A1, B1), [1], f", p100, {A1}, {B1}: expected two steps/s of at least 0, got [1]"),
        (("p100", A1, B1), [1, 0], f", p100, {A1}, {B1}: expected both above 0 or both 0, got [1, 0]"),
        (("k80", B1, A1), [1, 0.25], f", k80, {B1}: {A1} must be [1.5, 0.25] as the other way round, got [1, 0.25]"),
    ],
)
def test_bad_files(path: Path, place: tuple[str, ...], value: Any, says: str) -> None:
    content = copy.deepcopy(TABLE) if place else value
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    if place:
        inner[place[-1]] = value
    assert refused(lambda: read(path, content)).startswith(f"{path}{says}")


def test_what_is_fetched_is_what_is_read(shared: Path, measured: Throughputs) -> None:
    source = SOURCES["gavel-throughputs"]
    assert list(source.holds) == [Path(measured.name).name]
    assert source.files[0].path.startswith("stanford-futuredata/gavel/")
    assert len(measured.job_types) == 26
    assert len(measured.configurations) == 83
    assert not measured.alone("ResNet-50 (batch size 128)", 4)[2]  # a K80 has not the memory
    assert measured.alone("A3C", 1) == pytest.approx([7.1758, 5.6813, 3.4388], abs=1e-4)
    # the other table of the artifact has the same form
    physical = Throughputs.read(shared / "data" / "gavel" / "physical_cluster_throughputs.json")
    assert physical.configurations == measured.configurations


def test_compact_gangs_and_contention_are_plausible() -> None:
    t = COMPACT
    with pytest.raises(InputError, match="the compact table: 'CycleGAN' was not measured on a gang of 2 GPUs"):
        t.alone("CycleGAN", 2)
    for k, (kind, size) in enumerate(t.configurations):
        one = t.alone(kind, 1)
        assert (t.solo[:, k] <= size * one + 1e-9).all()
        if size == 1:
            assert (t.shared[0, k, :, 0] <= one + 1e-12).all()
        else:
            assert not t.shared[:, k].any()
            scattered, together = t.alone(kind, size, consolidated=False), t.alone(kind, size)
            assert scattered[0] <= together[0]
    np.testing.assert_array_equal(t.shared[..., 0, :], t.shared[..., 1, :].transpose(0, 2, 1, 3))
    speed = t.alone("ResNet-50 (batch size 64)", 1)
    assert speed[0] / speed[2] > 7  # Fig 1a: far more from a V100 than A3C
    assert t.alone("A3C", 1)[0] / t.alone("A3C", 1)[2] < 2.5


def test_compact_is_close_to_the_measurements(measured: Throughputs) -> None:
    """The factors that `Throughputs.compact` reports: median and 90th percentile."""
    t = COMPACT
    assert t.configurations == measured.configurations
    text = " ".join((Throughputs.compact.__doc__ or "").split())
    said = [float(x) for x in re.findall(r"1\.\d\d", text)]
    one = np.array([size == 1 for _, size in t.configurations])

    def apart(a: Any, b: Any) -> list[float]:
        both = (a > 0) & (b > 0)
        factor = np.exp(np.abs(np.log(a[both] / b[both])))
        return [round(float(x), 2) for x in (np.median(factor), np.quantile(factor, 0.9))]

    found = apart(t.solo[0, one], measured.solo[0, one])
    found += apart(t.solo[0, ~one], measured.solo[0, ~one]) + apart(t.solo[1, ~one], measured.solo[1, ~one])
    for j in range(3):
        found += apart(t.shared[0][..., j], measured.shared[0][..., j])
    assert found == said
    assert max(found[::2]) <= 1.15
    assert max(found[1::2]) <= 1.6
    upper = np.triu_indices(26)
    can, could = t.shared[0][upper][:, 0] > 0, measured.shared[0][upper][:, 0] > 0
    assert can.size == 1053
    assert ((can & ~could).sum(), (~can & could).sum()) == (14, 0)
    np.testing.assert_array_equal(t.solo[0] > 0, measured.solo[0] > 0)
    assert (t.solo[0].argmax(1) == measured.solo[0].argmax(1)).mean() >= 0.9


SINGLE = [k for k, (_, size) in enumerate(COMPACT.configurations) if size == 1]


def test_completion_recovers_a_row_of_low_rank() -> None:
    random = np.random.default_rng(0)
    columns = random.uniform(0, 1, (3, 40))
    rows = random.dirichlet(np.ones(3), 20) @ columns
    row = np.array([0.5, 0.3, 0.2]) @ columns
    known = random.choice(40, 12, replace=False)
    partial = np.full(40, np.nan)
    partial[known] = row[known]
    completed = complete(rows, partial)
    np.testing.assert_array_equal(completed[known], row[known])
    assert np.abs(completed - row).max() < 0.03
    # far better than the mean of the rows
    assert np.abs(completed - row).mean() < np.abs(rows.mean(axis=0) - row).mean() / 5


def test_everything_profiled_is_everything_known() -> None:
    estimator = Estimator(COMPACT, fraction=1)
    estimated = estimator.throughputs()
    one = np.ix_(SINGLE, SINGLE)
    np.testing.assert_allclose(estimated.shared[0][one], COMPACT.shared[0][one], rtol=1e-12)
    np.testing.assert_array_equal(estimated.solo, COMPACT.solo)
    assert [estimator.match(t) for t in estimator.job_types] == list(estimator.job_types)
    assert (estimator.errors() == 0).all()


def test_what_is_profiled() -> None:
    t = Estimator(COMPACT, fraction=1).job_types
    estimator = Estimator(COMPACT, t[:10], fraction=0.25, seed=3)
    profile = estimator.profile(t[20]).reshape(10, 3)
    assert np.isfinite(profile).sum() == 8  # 7.5, rounded up
    # measured entries are those of the new job beside the reference jobs, each in its own column
    for r, j in np.argwhere(np.isfinite(profile)):
        expected = pair(COMPACT, (t[20], 1), (t[r], 1))[0, j] / COMPACT.alone(t[20], 1)[j]
        assert profile[r, j] == pytest.approx(expected), f"beside {t[r]} on {COMPACT.types[j]}"
    other = Estimator(COMPACT, t[:10], fraction=0.25, seed=4)
    assert (np.isnan(other.profile(t[20])) != np.isnan(profile.ravel())).any()
    assert estimator.match(t[20]) in t[:10]
    shared = estimator.throughputs().shared  # of pairs that agree with each other
    np.testing.assert_array_equal(shared[..., 0, :], shared[..., 1, :].transpose(0, 2, 1, 3))
    assert (shared[..., 0, :] <= COMPACT.solo[:, :, None]).all()


def test_error_of_estimates(measured: Throughputs) -> None:
    """Estimates if every job type is a reference, and for job types that were never seen."""
    t = Estimator(measured, fraction=1).job_types
    assert Estimator(measured, fraction=0.2).errors().mean() < 0.02  # a reference at random is wrong by 0.17 on average
    new = {}
    for fraction in (0.02, 0.2, 1):
        half = [Estimator(measured, t[s::2], fraction=fraction, seed=s).errors().drop([*t[s::2]]) for s in range(2)]
        new[fraction] = np.mean([errors.mean() for errors in half])
    assert new[1] <= new[0.2] < new[0.02]
    assert new[0.2] < 0.15


ONE_LESS = COMPACT.measured.copy()
ONE_LESS[:, SINGLE[0], SINGLE[1]] = False


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        *(({"fraction": f}, "^estimator: fraction must be above 0 and at most 1, got ") for f in (0, 1.5, np.nan)),
        ({"references": ["AlexNet"]}, r"^estimator: job type must be one of .*CycleGAN.*, got 'AlexNet'$"),
        ({"references": []}, "^estimator: references must be different job types, at least one, got none$"),
        ({"references": ["A3C", "A3C"]}, "^estimator: references must be different job types, at least one, got A3C, "),
        ({"measured": replace(COMPACT, measured=ONE_LESS)}, "were never measured on the same GPUs$"),
        ({"measured": replace(COMPACT, measured=np.zeros_like(ONE_LESS))}, "of pairs of the 26 references, got none$"),
    ],
)
def test_what_no_estimator_can_have(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Estimator(**{"measured": COMPACT, "fraction": 0.5} | arguments)
