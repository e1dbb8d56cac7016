"""The causes of waits beside Slurm's own reasons."""

from __future__ import annotations

import dataclasses
import math

import pandas as pd
import pytest
from recorded_logs import recorded

from astraea.audit.causes import Cause
from astraea.audit.reasons import Told, agreement, beside, told_by
from astraea.traces.columns import DETAILS
from astraea.traces.trace import Trace

ABOUT = {
    "": Told.QUEUE, "None": Told.QUEUE, "Resources": Told.QUEUE, "Priority": Told.QUEUE,
    "QOSMaxGRESPerUser": Told.LIMIT, "QOSGrpGRES": Told.LIMIT, "AssocGrpGRES": Told.LIMIT,
    "AssocMaxJobsLimit": Told.LIMIT, "MaxGRESPerAccount": Told.LIMIT, "PartitionTimeLimit": Told.LIMIT,
    "JobArrayTaskLimit": Told.LIMIT, "ReqNodeNotAvail, UnavailableNodes:n4": Told.NODES, "Reservation": Told.NODES,
    "NodeDown": Told.NODES, "Licenses": Told.OTHER, "BurstBufferResources": Told.OTHER, "Dependency": Told.BEFORE,
    "DependencyNeverSatisfied": Told.BEFORE, "BeginTime": Told.BEFORE, "JobHeldUser": Told.BEFORE,
}  # fmt: skip


@pytest.mark.parametrize("reason", ABOUT)
def test_what_a_reason_is_about(reason: str) -> None:
    assert told_by(reason) is ABOUT[reason]


# cause here, Slurm's reason, what is shown, and if the two agree; None where they cannot be compared
SHOWN = [
    (Cause.QUEUE, "", Cause.QUEUE, True),
    (Cause.QUEUE, "QOSGrpGRES", "Slurm: a limit", False),
    (Cause.ORDER, "Licenses", "Slurm: licences and others", False),
    (Cause.ORDER, "ReqNodeNotAvail", "Slurm: certain nodes", False),
    (Cause.GANG, "ReqNodeNotAvail", Cause.GANG, True),
    (Cause.QUOTA, "AssocGrpGRES", Cause.QUOTA, True),
    (Cause.QUOTA, "", "Slurm: Priority or Resources", False),
    (Cause.SHARE, "Dependency", Cause.SHARE, None),
]


def of_reasons(*reasons: str) -> Trace:
    """A log of one job for each reason, and one that waits still."""
    trace = recorded(*(f"a{k} 1 {k} {k + 1} {k + 2}" for k in range(len(reasons))), "b9 1 0")
    details = pd.DataFrame({name: [unknown] * len(trace) for name, unknown in DETAILS.items()}).assign(reason=reasons)
    return dataclasses.replace(trace, details=details)


def test_which_of_the_two_is_shown_and_how_often_they_agree() -> None:
    causes, reasons, shown, agree = zip(*SHOWN, strict=True)
    trace = of_reasons(*reasons)
    waits = pd.DataFrame({"job_id": [*trace.job_id, "b9"], "cause": [*causes, Cause.ORDER], "wait": range(1, 10)})
    waits[Cause.QUOTA] = 0.0
    table = beside(waits, trace)
    assert table["shown"].tolist() == [*shown, Cause.ORDER]
    assert table["told"].tolist()[-1] == ""  # nobody knows of one that waits still
    briefly = beside(waits.assign(**{Cause.QUOTA: 0.5}), trace)["shown"].tolist()
    assert briefly == [Cause.QUEUE if text == "Slurm: a limit" else text for text in table["shown"]]
    counts, number, time = agreement(table)
    assert counts.loc[Cause.QUEUE].to_dict() == {t: int(t in (Told.QUEUE, Told.LIMIT)) for t in Told}
    assert number == pytest.approx(agree.count(True) / 7)
    assert time == pytest.approx(sum(k for k, same in enumerate(agree, 1) if same) / sum(range(1, 8)))


@pytest.mark.parametrize("reasons", [[], ["", ""]])
def test_a_log_without_reasons_is_not_held_against_any(reasons: list[str]) -> None:
    trace = of_reasons(*reasons) if reasons else recorded("a0 1 0 1 2", "a1 1 0 1 2")
    waits = pd.DataFrame({"job_id": ["a0", "a1"], "cause": [Cause.QUOTA, Cause.QUEUE], "wait": [1.0, 2.0]})
    table = beside(waits.assign(**{Cause.QUOTA: 0.0}), trace)
    assert table["shown"].tolist() == waits["cause"].tolist()
    counts, number, time = agreement(table)
    assert counts.empty and math.isnan(number) and math.isnan(time)
