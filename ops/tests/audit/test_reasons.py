"""The causes of waits beside Slurm's own reasons, also those of a real Slurm (26.05)."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pandas as pd
import pytest
from places import OPS
from recorded_logs import recorded

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.traces.columns import DETAILS
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace
from astraea_ops.audit.causes import Cause, Subject, agreement, beside, causes, subject_of
from astraea_ops.audit.recorded import waits
from astraea_ops.site.rules import rules
from astraea_ops.site.site import Site, read_site

SLURM = OPS / "tests" / "data" / "slurm"

ABOUT = {
    "": Subject.QUEUE, "None": Subject.QUEUE, "Resources": Subject.QUEUE, "Priority": Subject.QUEUE,
    "QOSMaxGRESPerUser": Subject.LIMIT, "QOSGrpGRES": Subject.LIMIT, "AssocGrpGRES": Subject.LIMIT,
    "AssocMaxJobsLimit": Subject.LIMIT, "MaxGRESPerAccount": Subject.LIMIT, "PartitionTimeLimit": Subject.LIMIT,
    "JobArrayTaskLimit": Subject.LIMIT, "ReqNodeNotAvail": Subject.NODES, "Reservation": Subject.NODES,
    "NodeDown": Subject.NODES, "Licenses": Subject.OTHER, "BurstBufferResources": Subject.OTHER,
    "Dependency": Subject.BEFORE, "DependencyNeverSatisfied": Subject.BEFORE,
    "BeginTime": Subject.BEFORE, "JobHeldUser": Subject.BEFORE,
}  # fmt: skip


@pytest.mark.parametrize("reason", ABOUT)
def test_what_a_reason_is_about(reason: str) -> None:
    assert subject_of(reason) is ABOUT[reason]


# cause here, Slurm's reason, what is shown, and if the two agree; None where they cannot be compared
SHOWN = [
    (Cause.QUEUE, "", Cause.QUEUE, True),
    (Cause.QUEUE, "QOSGrpGRES", "Slurm: a limit", False),
    (Cause.ORDER, "Licenses", "Slurm: licences and others", False),
    (Cause.ORDER, "ReqNodeNotAvail, UnavailableNodes:n4", "Slurm: certain nodes", False),
    (Cause.GANG, "ReqNodeNotAvail", Cause.GANG, True),
    (Cause.QUOTA, "AssocGrpGRES", Cause.QUOTA, True),
    (Cause.QUOTA, "", "Slurm: Priority or Resources", False),
    (Cause.SHARE, "Dependency", Cause.SHARE, None),
]


def of_reasons(*reasons: str) -> Trace:
    """A log of one job for each reason, and one that is still waiting."""
    trace = recorded(*(f"a{k} 1 {k} {k + 1} {k + 2}" for k in range(len(reasons))), "b9 1 0")
    details = pd.DataFrame({name: [unknown] * len(trace) for name, unknown in DETAILS.items()}).assign(reason=reasons)
    return dataclasses.replace(trace, details=details)


def test_which_of_the_two_is_shown_and_how_often_they_agree() -> None:
    cause, reasons, shown, agree = zip(*SHOWN, strict=True)
    trace = of_reasons(*reasons)
    found = pd.DataFrame({"job_id": [*trace.job_id, "b9"], "cause": [*cause, Cause.ORDER], "wait": range(1, 10)})
    found[Cause.QUOTA] = 0.0
    table = beside(found, trace)
    assert table["shown"].tolist() == [*shown, Cause.ORDER]
    assert not table["reason"].str.contains("n4").any()  # an audit without names has none of nodes either
    assert table["subject"].tolist()[-1] == ""  # nobody knows of one that waits still
    briefly = beside(found.assign(**{Cause.QUOTA: 0.5}), trace)["shown"].tolist()
    assert briefly == [Cause.QUEUE if text == "Slurm: a limit" else text for text in table["shown"]]
    counts, number, time = agreement(table)
    assert counts.loc[Cause.QUEUE].to_dict() == {t: int(t in (Subject.QUEUE, Subject.LIMIT)) for t in Subject}
    assert number == pytest.approx(agree.count(True) / 7)
    assert time == pytest.approx(sum(k for k, same in enumerate(agree, 1) if same) / sum(range(1, 8)))


@pytest.mark.parametrize("reasons", [[], ["", ""]])
def test_a_log_without_reasons_is_not_held_against_any(reasons: list[str]) -> None:
    trace = of_reasons(*reasons) if reasons else recorded("a0 1 0 1 2", "a1 1 0 1 2")
    found = pd.DataFrame({"job_id": ["a0", "a1"], "cause": [Cause.QUOTA, Cause.QUEUE], "wait": [1.0, 2.0]})
    table = beside(found.assign(**{Cause.QUOTA: 0.0}), trace)
    assert table["shown"].tolist() == found["cause"].tolist()
    counts, number, time = agreement(table)
    assert counts.empty and math.isnan(number) and math.isnan(time)


def of_real(log: Path, site: Site | None = None) -> tuple[pd.DataFrame, float]:
    """Waits of more than 3 s of a real log beside Slurm's reasons, and the part of them that agree."""
    trace = read_trace(log, format="slurm")
    runs, cluster = recorded_runs(trace), Cluster(4, 8)
    who = waits(trace, runs)
    known = None if site is None else rules(site, trace, cluster)[0]
    table = beside(causes(trace, runs, cluster, who[who["until"] - who["since"] > 3], known), trace)
    return table, agreement(table)[1]


def test_limits_that_are_known_explain_what_slurm_calls_a_limit() -> None:
    folder = SLURM / "limits"
    site = read_site([folder / name for name in ("slurm.conf", "accounts.txt", "qos.txt", "nodes.txt")])
    blind, sighted = of_real(folder / "sacct.txt"), of_real(folder / "sacct.txt", site)
    assert (blind[0]["subject"] == Subject.LIMIT).sum() == (sighted[0]["subject"] == Subject.LIMIT).sum() == 36
    assert blind[1] == pytest.approx(28 / 64) and sighted[1] >= 0.9
    limited = sighted[0][sighted[0]["cause"] == Cause.QUOTA]
    assert len(limited) > 20 and (limited["subject"] == Subject.LIMIT).all()


def test_reasons_of_a_real_slurm() -> None:
    table, number = of_real(SLURM / "reasons.txt")
    assert set(table["subject"]) == {Subject.QUEUE, Subject.LIMIT, Subject.NODES, Subject.BEFORE}
    assert number == pytest.approx(96 / 104)
    # Slurm moves Eligible to the end of a dependency, a begin time or a hold, so these are before the wait
    log = pd.read_csv(SLURM / "reasons.txt", sep="|", dtype=str)
    before = log[log["Reason"].fillna("").map(subject_of) == Subject.BEFORE]
    assert len(before) == 25 and (before["Eligible"] > before["Submit"]).all()
