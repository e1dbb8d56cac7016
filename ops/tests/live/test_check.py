"""Output of `astraea live check` for recorded answers of Slurm 22.05 and 26.05, and for a real Slurm."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
from live_cluster import CONFIG
from live_slurm import Site
from places import OPS
from processes import run

from astraea.core.errors import InputError
from astraea_ops.live import check as module
from astraea_ops.live.answers import SlurmError
from astraea_ops.live.check import MISSING, OK, WARNING, check
from astraea_ops.live.slurm import Slurm

GOOD = """\
Configuration data as of 2026-11-26T15:47:26
AccountingStorageEnforce = associations,limits
AccountingStorageTRES   = cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu
AccountingStorageType   = accounting_storage/slurmdbd
GresTypes               = gpu
JobRequeue              = 1
JobSubmitPlugins        = lua
KillWait                = 30 sec
MinJobAge               = 300 sec
PreemptType             = preempt/none
SchedulerParameters     = sched_interval=5,bf_interval=5
SelectType              = select/cons_tres
SlurmUser               = slurm(64030)
SLURM_VERSION           = 22.05.8

Slurmctld(primary) at cluster is UP
"""
NODES = "n1|gpu|up|gpu:8\nn2|gpu|up|gpu:a100:8(S:0-1)\n"


class Answers(Slurm):
    """A Slurm with these answers."""

    def __init__(self, config: str = GOOD, nodes: str = NODES, user: str = "Operator\n") -> None:
        super().__init__("gpu")
        self.answers = {"scontrol": config, "sinfo": nodes, "sacctmgr": user}

    def _run(self, *command: str, **environment: str) -> str:
        if not self.answers[command[0]]:
            raise SlurmError(f"{command[0]}: no answer")
        return self.answers[command[0]]


@pytest.fixture(autouse=True)
def somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be the user of the service."""
    monkeypatch.setattr(os, "geteuid", lambda: pwd.getpwnam("nobody").pw_uid)


@pytest.mark.parametrize(
    "config", [GOOD, GOOD.replace("22.05.8", "26.05.3").replace("preempt/none", "(null)")], ids=["22.05", "26.05"]
)
def test_nothing_is_missing(config: str) -> None:
    found = check(CONFIG, Answers(config))
    assert [finding.state for finding in found] == [OK] * 15
    assert "ok       KillWait: 30 sec" in map(str, found)
    assert "ok       partition gpu: up, 2 nodes with GPUs" in map(str, found)


@pytest.mark.parametrize(
    ("before", "after", "state", "what", "expected"),
    [
        ("22.05.8", "20.11.9", MISSING, "SLURM_VERSION: 20.11.9", "22.05 or newer"),
        ("= lua", "= (null)", MISSING, "JobSubmitPlugins: (null)", "lua"),
        ("= 30 sec", "= 100 sec", WARNING, "KillWait: 100 sec", "less than the lease term of 100 s"),
        ("= 300 sec", "= 20 sec", MISSING, "MinJobAge: 20 sec", "at least 30 s"),
        ("sched_interval=5,", "", WARNING, "SchedulerParameters sched_interval: 60 by default", "at most 10 s"),
        ("bf_interval=5", "bf_interval=-1", WARNING, "SchedulerParameters bf_interval: -1", "at most 10 s"),
        ("JobRequeue              = 1", "JobRequeue = 0", MISSING, "JobRequeue: 0", "1"),
        ("GresTypes               = gpu", "GresTypes = (null)", MISSING, "GresTypes: (null)", "gpu"),
        ("cons_tres", "linear", MISSING, "SelectType: select/linear", "select/cons_tres"),
        ("storage/slurmdbd", "storage/none", MISSING, "AccountingStorageType: accounting_storage/none", "accounting_"),
        (",gres/gpu", "", MISSING, "AccountingStorageTRES: cpu,mem", "gres/gpu"),
        ("associations,limits", "none", MISSING, "AccountingStorageEnforce: none", "associations"),
        ("preempt/none", "preempt/qos", WARNING, "PreemptType: preempt/qos", "preempt/none"),
        ("JobRequeue              = 1\n", "", MISSING, "JobRequeue: not shown", "1"),
    ],
)
def test_a_setting_that_is_missing_is_named_with_its_reason(
    before: str, after: str, state: str, what: str, expected: str
) -> None:
    assert before in GOOD
    (bad,) = [f for f in check(CONFIG, Answers(GOOD.replace(before, after))) if f.state != OK]
    line = str(bad)
    assert bad.state == state and line.startswith(f"{state:<8} {what}") and bad.why
    assert f"; expected {expected}" in line and len(line) < 240


@pytest.mark.parametrize(
    ("answers", "line"),
    [
        ({"nodes": "n1|cpu|up|(null)\n"}, "missing  partition gpu: does not exist or has no nodes; expected one of c"),
        ({"nodes": "n1|gpu|up|(null)\n"}, "missing  partition gpu: no node has a GPU; expected nodes with Gres=gpu:N"),
        ({"nodes": NODES.replace("up", "inact")}, "missing  partition gpu: not up; expected State=UP"),
        ({"nodes": NODES + "n2|all|up|gpu:8\n"}, "warning  partition gpu: shares nodes with all; expected nodes of"),
        ({"user": "None\n"}, "missing  AdminLevel: None (nobody); expected Operator: lower levels cannot set"),
        ({"user": "\n"}, "missing  AdminLevel: not a user in the accounting (nobody); expected Operator"),
    ],
)
def test_a_partition_or_a_right_that_is_missing(answers: dict[str, str], line: str) -> None:
    (bad,) = [f for f in check(CONFIG, Answers(**answers)) if f.state != OK]
    assert str(bad).startswith(line)


def test_what_depends_on_who_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="scontrol: no answer"):
        check(CONFIG, Answers(config=""))
    free = Answers(GOOD.replace("associations,limits", "none"))
    assert {f.state for f in check(replace(CONFIG, tenant="user"), free)} == {OK}
    assert check(CONFIG, Answers(user=""))[-1].found == "sacctmgr: no answer"
    two = replace(CONFIG, partition="gpu,all")  # which may share their nodes
    assert {f.state for f in check(two, Answers(nodes=NODES + "n2|all|up|gpu:8\n"))} == {OK}
    assert check(CONFIG, Answers(GOOD.replace("= slurm(", "= nobody("), user=""))[-1].state == OK
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert str(check(CONFIG, Answers())[-1]).startswith("warning  AdminLevel: root, who may do anything; expected")


def test_the_page_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (OPS / "docs" / "live" / "operations.md").read_text(encoding="utf-8")
    shown = re.findall(r"^(?:ok|warning|missing) .*$", page, re.M)
    answer = GOOD.replace("22.05.8", "26.05.3").replace("preempt/none", "(null)").replace("sched_interval=5,", "")
    answer = answer.replace("= lua", "= (null)").replace("associations,limits", "none")
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_name="astraea"))
    assert [*map(str, check(CONFIG, Answers(answer)))] == shown


@pytest.mark.slurm
def test_a_real_slurm(site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch) -> None:
    site()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    found = check(replace(CONFIG, interval=2.0))
    assert [(f.state, f.what) for f in found if f.state != OK] == [
        (WARNING, "partition gpu"), (WARNING, "AdminLevel"),
    ]  # fmt: skip
    monkeypatch.setattr(os, "geteuid", lambda: pwd.getpwnam("nobody").pw_uid)
    assert check(CONFIG)[-1].found == "not a user in the accounting (nobody)"
    run("sacctmgr", "-i", "add", "user", "nobody", "account=root", "adminlevel=Operator")
    assert check(CONFIG)[-1].state == OK
    run("sacctmgr", "-i", "delete", "user", "nobody")
    assert module.check(replace(CONFIG, partition="none"))[-2].state == MISSING
