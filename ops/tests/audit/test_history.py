"""The audit as history: months, OpenMetrics text, and what changed since the last audit."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from recorded_logs import recorded
from shell import clean, refused

from astraea.cli.main import main
from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.core.units import DAY, HOUR
from astraea.core.wording import labels_text
from astraea.traces.trace import Trace
from astraea_ops.audit.audit import Audit, audit, with_those_who_wait
from astraea_ops.audit.compare import changed, changes, figures, read_last
from astraea_ops.audit.page import BY_MONTH, as_openmetrics, write
from astraea_ops.audit.scenarios import months

LOG = Path(__file__).parents[3] / "data" / "example_cluster"


def audited(*rows: str, origin: str | None = None) -> Audit:
    trace = with_those_who_wait(recorded(*rows))
    if origin is not None:
        trace = dataclasses.replace(trace, origin=pd.Timestamp(origin))
    return audit(trace, Cluster(1, 4), get_policy("fifo"), ["fifo"])


def two_months(name: str = "b") -> Audit:
    """A log from 30 January 2026: a day of a, all of b's jobs in February, one of which is still waiting."""
    day = int(DAY)
    return audited(
        f"a1 4 0 0 {day}", f"a2 4 10 {day} {4 * day}", f"{name}1 2 {2 * day} {4 * day} {5 * day}",
        f"{name}2 2 {3 * day} {4 * day} {5 * day}", f"{name}3 4 {4 * day}", origin="2026-01-30 00:00",
    )  # fmt: skip


def test_waits_and_gpu_time_by_month() -> None:
    found, day = two_months().by_month.set_index(["month", "tenant"]), DAY
    assert list(found.columns) == [column for _, _, column, _ in BY_MONTH.values()]
    assert found.index.tolist() == [("2026-01", "a"), ("2026-01", "b"), ("2026-02", "a"), ("2026-02", "b")]
    january, february = found.loc["2026-01"], found.loc["2026-02"]
    assert january.loc["a", ["jobs", "waiting"]].tolist() == [2, 0]
    assert january.loc["a", ["mean_wait", "longest_wait"]].tolist() == [(day - 10) / 2, day - 10]
    assert january.loc["b", ["jobs", "waiting"]].tolist() == [0, 0] and math.isnan(january.loc["b", "mean_wait"])
    assert february.loc["b", ["jobs", "waiting"]].tolist() == [2, 1]
    # two days, one day, and so far one day
    assert february.loc["b", ["mean_wait", "median_wait", "longest_wait"]].tolist() == [4 * day / 3, day, 2 * day]
    # a holds all from 30 January to 3 February, b from then on: two of the four GPUs are each one's share
    assert january["attained"].tolist() == pytest.approx([4 * 48, 0])
    assert february["attained"].tolist() == pytest.approx([4 * 48, 4 * 24])
    assert january["owed"].tolist() == pytest.approx([2 * 48, 0])
    assert february["owed"].tolist() == pytest.approx([2 * 48, 2 * 72])


@pytest.mark.parametrize(
    "origin, end, bounds, names",
    [
        ("2026-03-01 00:00", 10 * DAY, [0, 10 * DAY], ["2026-03"]),
        ("2026-03-31 12:00", DAY, [0, DAY / 2, DAY], ["2026-03", "2026-04"]),
        ("2026-03-31 00:00", DAY, [0, DAY], ["2026-03"]),
        ("2025-12-31 23:59:59", 32 * DAY, [0, 1, 31 * DAY + 1, 32 * DAY], ["2025-12", "2026-01", "2026-02"]),
        (None, 61 * DAY, [0, 30 * DAY, 60 * DAY, 61 * DAY], ["1", "2", "3"]),
        (None, 0, [0, 1], ["1"]),
    ],
)
def test_months(origin: str | None, end: float, bounds: list[float], names: list[str]) -> None:
    found = months(None if origin is None else pd.Timestamp(origin), end)
    assert (found[0].tolist(), found[1]) == (bounds, names)


def test_prometheus_reads_what_the_table_says() -> None:
    found = two_months()
    text = as_openmetrics(found)
    assert text.endswith("\n# EOF\n") and text.count("# EOF") == 1
    families = {family.name: family for family in text_string_to_metric_families(text)}
    (info,) = families["astraea_audit"].samples
    assert info.labels == {"trace": "log", "scheduler": "fifo"}
    for name, (unit, _, column, factor) in BY_MONTH.items():
        family = families[f"astraea_audit_{name}"]
        assert (family.type, family.unit) == ("gauge", unit)
        told = {(s.labels["month"], s.labels["tenant"]): s.value for s in family.samples}
        table = (found.by_month.set_index(["month", "tenant"])[column] * factor).dropna()
        assert told == table.to_dict()
    assert families["astraea_audit_utilization_ratio"].samples[0].value == found.utilization
    causes = families["astraea_audit_wait_cause_seconds"].samples
    assert sum(sample.value for sample in causes) == found.causes["wait"].sum()
    slurms = found._replace(causes=found.causes.assign(shown="Slurm: a limit"))
    families = {family.name: family for family in text_string_to_metric_families(as_openmetrics(slurms))}
    causes = families["astraea_audit_wait_cause_seconds"].samples
    assert {s.labels["cause"]: s.value for s in causes if s.value} == {"Slurm: a limit": found.causes["wait"].sum()}


def test_labels_may_have_any_character() -> None:
    name = 'a"b\\c\nd{}#é'
    text = f"# TYPE x gauge\nx{labels_text({'tenant': name})} 1.0\n# EOF\n"
    (family,) = text_string_to_metric_families(text)
    assert family.samples[0].labels == {"tenant": name}
    assert labels_text({}) == ""


def test_what_changed() -> None:
    last = figures(audited("a1 1 0 0 100", "b1 1 0 100 160", "c1 1 0 160 161"))
    now = figures(audited("a1 1 0 0 100", "b1 1 0 300 360", "d1 1 0 100 300"))
    assert changes(last, now) == [
        "Since the last audit, the average wait went from 1.44 min to 2.22 min (+54 %), and the use of the cluster's "
        "GPU-time from an unknown part to an unknown part.",
        "b now waits 5 min on average, after 1.67 min before, and got 17 % of what it was owed, after 38 % before.",
        "The largest cause of waiting is still “kept back for a job ahead”, with 100 % of the explained waiting time, "
        "after 100 % before.",
        "Tenants that are new: d.",
        "Tenants that are no longer in this log: c.",
    ]
    section = changed(last, now)
    table = next(part for part in section["parts"] if isinstance(part, dict) and "columns" in part)
    assert table["columns"][:3] == ["tenant", "average wait before [min]", "average wait now [min]"]
    assert [row[0] for row in table["rows"]] == ["a", "b", "c", "d"]
    assert [row[1:3] for row in table["rows"]] == [("0.00", "0.00"), ("1.67", "5.00"), ("2.67", "–"), ("–", "1.67")]


def test_nothing_changed_and_nobody_waited() -> None:
    same = figures(audited("a1 1 0 0 50"))
    assert changes(same, same) == [
        "Since the last audit, the average wait went from 0 s to 0 s, and the use of the cluster's GPU-time from an "
        "unknown part to an unknown part."
    ]
    assert len(changed(same, same)["parts"]) == 2


def test_an_audit_reads_its_own_figures(tmp_path: Path) -> None:
    found = two_months()
    write(found, "", tmp_path)
    assert read_last(tmp_path / "audit.json") == figures(found)


def test_the_command_prints_and_shows_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (LOG / "sacct.txt").read_text().splitlines(keepends=True)
    (tmp_path / "first.txt").write_text("".join(lines[:60]))
    run = ["--nodes", "4", "--scheduler", "fifo", "--what-if", "fifo"]
    assert main(["audit", str(tmp_path / "first.txt"), *run, "--out", str(tmp_path / "one")]) == 0
    capsys.readouterr()
    last = tmp_path / "one" / "audit.json"
    argv = ["audit", str(LOG / "sacct.txt"), *run, "--compare", str(last), "--out", str(tmp_path / "two")]
    assert main(argv) == 0
    printed = capsys.readouterr().out
    said = changes(read_last(last), read_last(tmp_path / "two" / "audit.json"))
    assert len(said) == 5 and all(f"- {line}\n" in printed for line in said)
    page = (tmp_path / "two" / "index.html").read_text()
    assert "What changed since the last audit" in page and not re.search(r"\bnan\b", page)
    assert "What changed" not in (tmp_path / "one" / "index.html").read_text()
    assert main([*argv[:-1], str(tmp_path / "nameless"), "--anonymize"]) == 0
    assert "Names are replaced by letters, which stand for the same tenants only if" in capsys.readouterr().out


def but(**changes: Any) -> str:
    return json.dumps({"figures": figures(two_months()) | changes})


BAD = {
    "not JSON": ("{", "last.json, line 1: not JSON"),
    "another JSON": ("[1]", "expected the audit.json of an earlier audit, with an object 'figures'"),
    "no tenants": (but(tenants=None), "figures.tenants must be an object, got None"),
    "a tenant that is none": (but(tenants={"a": 3}), "figures.tenants.a.wait must be a number or null, got '3'"),
    "a wait in words": (but(average_wait="long"), "figures.average_wait must be a number or null, got 'long'"),
    "a cause in words": (but(causes={"x": "y"}), "figures.causes.x must be a number, got 'y'"),
    "a cause without time": (but(causes={"x": None}), "figures.causes.x must be a number, got None"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_compared_with(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, says = BAD[case]
    monkeypatch.chdir(tmp_path)
    Path("last.json").write_text(text)
    argv = ["audit", str(LOG / "sacct.txt"), "--nodes", "4", "--compare", "last.json", "--out", "out"]
    refused(argv, capsys, says)
    clean(tmp_path)


def test_a_trace_without_a_date_has_numbered_months() -> None:
    found = audited("a1 4 0 0 100", "a2 4 5 100 200")
    assert isinstance(found.trace, Trace) and found.by_month["month"].tolist() == ["1"]
    assert found.by_month["attained"].tolist() == pytest.approx([4 * 200 / HOUR])
