"""Throughputs of Gavel: the authors' file, the compact table, and how far the two are apart."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gavel_small import pair

from astraea.core.errors import InputError
from astraea.traces.sources import SOURCES
from papers.gavel.throughputs.table import Throughputs

A1, A2, B1 = "('A', 1)", "('A', 2)", "('B', 1)"
TABLE: dict[str, Any] = {
    "k80": {A1: {"null": 1, A1: [0.5, 0.5], B1: [0.25, 1.5]}, B1: {"null": 2, A1: [1.5, 0.25]}, A2: {"null": 0}},
    "p100": {A1: {"null": 3, B1: [0, 0]}, B1: {"null": 4}, A2: {"null": 5.5}},
    "v100": {A1: {"null": 6, B1: [4, 5]}, B1: {"null": 7}, A2: {"null": 11, A2: [7, 8]}},
    "v100_unconsolidated": {A1: {"null": 99}, A2: {"null": 9}},
}


@pytest.fixture
def table() -> dict[str, Any]:
    return copy.deepcopy(TABLE)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    def to_file(content: Any) -> Path:
        path = tmp_path / "speeds.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return to_file


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


def test_a_small_file(write: Callable[[Any], Path], table: dict[str, Any]) -> None:
    t = Throughputs.read(write(table))
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
    many = t.pairs(np.array([t.kind("A", 1), t.kind("A", 2)]), np.array([t.kind("B", 1), t.kind("A", 2)]))
    assert many.tolist() == [pair(t, ("A", 1), ("B", 1)).tolist(), pair(t, ("A", 2), ("A", 2)).tolist()]
    assert [t.type_index(name) for name in t.types] == [0, 1, 2]


def test_what_was_never_measured_is_said(write: Callable[[Any], Path], table: dict[str, Any]) -> None:
    path = write(table)
    t = Throughputs.read(path)
    assert refused(lambda: t.alone("C", 1)) == f"{path}: unknown job type 'C'; known are A, B"
    assert refused(lambda: t.alone("A", 4)) == f"{path}: 'A' was not measured on a gang of 4 GPUs, only of 1, 2"
    assert refused(lambda: pair(t, ("B", 1), ("B", 1))).endswith(
        "('B', 1) and ('B', 1) were never measured on the same GPUs"
    )
    assert refused(lambda: t.type_index("a100")).endswith("accelerator must be one of v100, p100, k80, got 'a100'")
    del table["v100_unconsolidated"]
    t = Throughputs.read(write(table))
    assert "('A', 2) was never measured unconsolidated" in refused(lambda: t.alone("A", 2, consolidated=False))


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("a100",), {}, ": unknown accelerator 'a100'; expected one of v100, p100, k80, v100_unconsolidated"),
        (("p100",), [], ", p100: expected an object with the throughputs of job types, got []"),
        (("p100",), {}, ", p100: expected an object with the throughputs of job types, got"),
        (("p100", "A"), {"null": 1}, ", p100: a key must be \"('job type', scale factor)\", got A"),
        (("p100", "('A', 0)"), {"null": 1}, ", p100: a key must be \"('job type', scale factor)\", got ('A', 0)"),
        (("p100", A1), 5, f", p100, {A1}: expected an object with the throughput alone under null, got 5"),
        (("p100", A1), {B1: [1, 1]}, f", p100, {A1}: expected an object with the throughput alone under null"),
        (("p100", A1, "null"), -1, f", p100, {A1}: null must be steps/s of at least 0, got -1"),
        (("p100", A1, "null"), "fast", f", p100, {A1}: null must be steps/s of at least 0, got fast"),
        (("p100", A1, "null"), True, f", p100, {A1}: null must be steps/s of at least 0, got True"),
        (("p100", A1, "null"), float("nan"), f", p100, {A1}: null must be steps/s of at least 0, got nan"),
        (("p100", A1, "null"), float("inf"), f", p100, {A1}: null must be steps/s of at least 0, got inf"),
        (("p100", A1, "B"), [1, 1], f", p100, {A1}: a key must be"),
        (("p100", A1, "('C', 1)"), [1, 1], f", p100, {A1}: ('C', 1) is unknown, it has no entry of its own"),
        (("p100", A1, B1), [1], f", p100, {A1}, {B1}: expected two steps/s of at least 0, got [1]"),
        (("p100", A1, B1), [1, -2], f", p100, {A1}, {B1}: expected two steps/s of at least 0, got [1, -2]"),
        (("p100", A1, B1), [1, 0], f", p100, {A1}, {B1}: expected both above 0 or both 0, got [1, 0]"),
        (("k80", B1, A1), [1, 0.25], f", k80, {B1}: {A1} must be [1.5, 0.25] as the other way round, got [1, 0.25]"),
    ],
)
def test_bad_entries(
    write: Callable[[Any], Path], table: dict[str, Any], place: tuple[str, ...], value: Any, says: str
) -> None:
    inner = table
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path = write(table)
    assert refused(lambda: Throughputs.read(path)).startswith(f"{path}{says}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("", "the file is empty"),
        ("[]", "expected an object with the accelerators v100, p100, k80, got []"),
        ("{}", "accelerator 'v100' is missing; found none"),
        ('{"v100": {}, "v100": {}}', "not JSON (key v100 is there twice)"),
    ],
)
def test_bad_files(write: Callable[[Any], Path], text: str, says: str) -> None:
    path = write(text)
    assert refused(lambda: Throughputs.read(path)).startswith(f"{path}: {says}")


def test_missing_file_says_how_to_get_it(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    assert refused(lambda: Throughputs.read(path)) == (
        f"{path}: there is no such file of measured throughputs; get it with `astraea data fetch gavel-throughputs`"
    )


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


def test_compact_has_the_paper_s_configurations() -> None:
    t = Throughputs.compact()
    sizes = {kind: [s for k, s in t.configurations if k == kind] for kind in t.job_types}
    assert len(sizes) == 26
    assert len(t.configurations) == 83
    assert sizes["LM (batch size 5)"] == [1, 2, 4, 8]
    assert sizes["A3C"] == [1]
    assert (t.solo >= 0).all()
    assert np.isfinite(t.solo).all()
    with pytest.raises(InputError, match="the compact table: 'CycleGAN' was not measured on a gang of 2 GPUs"):
        t.alone("CycleGAN", 2)


def test_compact_gangs_and_contention_are_plausible() -> None:
    t = Throughputs.compact()
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
    t = Throughputs.compact()
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
