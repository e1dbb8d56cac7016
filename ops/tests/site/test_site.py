"""Effects of a cluster's own configuration on the jobs of a log: nodes, tenants, limits, priorities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from places import OPS

from astraea.cluster.rules import Rules
from astraea.core.errors import InputError
from astraea.traces.columns import DETAILS
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace
from astraea_ops.site.clock import clock, passes
from astraea_ops.site.places import has_features
from astraea_ops.site.rules import rules
from astraea_ops.site.site import Site, read_site

LOGS = OPS / "tests" / "data" / "slurm"

CONF = """\
PriorityWeightFairshare=1000
PriorityWeightQOS=100
PriorityWeightPartition=10
PriorityWeightJobSize=64
PriorityWeightTRES=GRES/gpu=32
AccountingStorageEnforce=limits
NodeName=a[1-2] CPUs=16 RealMemory=1000 Gres=gpu:a100:8 Feature=fast,big
NodeName=b[1-2] CPUs=16 RealMemory=4000 Gres=gpu:v100:4(S:0-1) Feature=slow
NodeName=c1 CPUs=64
PartitionName=all Nodes=ALL Default=YES TRESBillingWeights="CPU=1,GRES/gpu=10"
PartitionName=quick Nodes=a[1-2] PriorityTier=3 PriorityJobFactor=5 QOS=part
"""
DUMP = """\
Cluster - 'c':Fairshare=1
Parent - 'root'
User - 'root':Fairshare=1
Account - 'sci':Fairshare=3:GrpTRES=gres/gpu=10
Account - 'empty':Fairshare=9
Parent - 'sci'
Account - 'bio':Fairshare=parent:MaxJobs=2
User - 'dean':Fairshare=1
Parent - 'bio'
User - 'ann':Fairshare=2:GrpTRES=cpu=6
User - 'bob':Fairshare=1
"""
QOS = """\
Name|Priority|Flags|UsageFactor|GrpTRES|GrpJobs|MaxTRESPU|MaxJobsPA
normal|0||1.0||||
high|10||2.0|gres/gpu=6||gres/gpu=4|
part|5||1.0|gres/gpu=8|||3
"""


def site_of(folder: Path, **texts: str) -> Site:
    """The site of files with these texts."""
    for name, text in texts.items():
        (folder / name).write_text(text)
    return read_site([folder / name for name in texts])


def trace_of(*jobs: dict[str, Any]) -> Trace:
    """Jobs of one second each, with details."""
    usual = {"account": "bio", "user": "ann", "nodes": 1.0, "cpus": 1.0, "gpus": 1.0}
    details = pd.DataFrame([{**DETAILS, **usual, **job} for job in jobs])
    table = pd.DataFrame(
        {
            "job_id": [str(k) for k in range(len(jobs))],
            "tenant": details["account"],
            "demand": details["gpus"].astype(int),
            "submit_time": np.arange(len(jobs), dtype=float),
            "duration": 1.0,
        }
    )
    return Trace.from_frame(table, details=details)


def found(site: Site, trace: Trace) -> tuple[Rules, list[str]]:
    """The rules of a site that names its nodes."""
    assert site.cluster is not None
    return rules(site, trace, site.cluster)


def test_nodes_on_which_jobs_may_run(tmp_path: Path) -> None:
    site = site_of(tmp_path, conf=CONF)
    assert site.cluster is not None
    assert site.cluster.node_gpus.tolist() == [8, 8, 4, 4]  # c1 has none
    jobs: dict[str, tuple[dict[str, Any], list[int]]] = {
        "any": ({}, [0, 1, 2, 3]),
        "partition": ({"partition": "quick"}, [0, 1]),
        "feature": ({"constraint": "slow"}, [2, 3]),
        "type": ({"gpu_type": "v100"}, [2, 3]),
        "size": ({"gpus": 6.0}, [0, 1]),
        "two nodes": ({"gpus": 8.0, "nodes": 2.0}, [0, 1, 2, 3]),
        "memory": ({"memory": 2000.0}, [2, 3]),
        "CPUs that no node has": ({"cpus": 20.0, "constraint": "fast"}, [0, 1]),
        "a feature that is gone": ({"constraint": "gone", "partition": "quick"}, [0, 1]),
    }
    ours, doubts = found(site, trace_of(*(job for job, _ in jobs.values())))
    for k, (name, (_, nodes)) in enumerate(jobs.items()):
        assert np.flatnonzero(ours.allowed[ours.kind[k]]).tolist() == nodes, name
    assert doubts == [
        "According to the settings, 1 job that ran could not have run: features, GPUs or partitions have changed since "
        "the log."
    ]
    assert ours.tier.tolist() == [1, 3, *[1] * 6, 3]
    assert ours.partition_nodes[ours.partition[1]].tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("constraint", "nodes"),
    [
        ("", "abc"), ("fast", "ab"), ("fast&ib", "a"), ("fast|slow", "abc"), ("(fast|slow)&ib", "ac"),
        ("slow&ib|fast", "abc"), ("[fast|slow]", "abc"), ("fast*2&slow*1", "abc"), ("ib,slow", "c"), ("none", ""),
        ("(fast", "ab"), ("&", "abc"),
    ],
)  # fmt: skip
def test_features(constraint: str, nodes: str) -> None:
    features = [frozenset({"fast", "ib"}), frozenset({"fast"}), frozenset({"slow", "ib"})]
    assert "".join(np.array(list("abc"))[has_features(constraint, features)]) == nodes


def test_where_jobs_ran_against_the_settings(tmp_path: Path) -> None:
    both, slow = {"node_list": "a[1-2]", "nodes": 2.0, "gpus": 2.0}, {"node_list": "b1", "constraint": "fast"}
    doubts = found(site_of(tmp_path, conf=CONF), trace_of(both, slow, {"node_list": "x9"}))[1]
    assert doubts == [
        "1 job ran on nodes where the settings do not allow them.", "1 job ran on nodes that they do not name.",
    ]  # fmt: skip


def test_tree_of_accounts(tmp_path: Path) -> None:
    site = site_of(tmp_path, conf=CONF, dump=DUMP)
    who = [("bio", "ann"), ("bio", "bob"), ("sci", "dean"), ("bio", "new"), ("gone", "old"), ("bio", "ann")]
    ours, doubts = found(site, trace_of(*({"account": a, "user": u} for a, u in who)))
    leaf = ours.association
    assert leaf[0] == leaf[5]
    assert len(set(leaf.tolist())) == 5
    # bio has the shares of its parent, so its users are beside those of sci; the account that is empty is left out
    assert len(set(ours.parent[leaf[:4]].tolist())) == 1
    assert ours.shares[leaf].tolist() == [2, 1, 1, 1, 1, 2]
    assert ours.shares[ours.parent[leaf[0]]] == 3
    assert 9 not in ours.shares
    users = np.setdiff1d(np.arange(len(ours.parent)), ours.parent)
    assert len(users) == 6  # with root
    assert doubts == ["2 users of the log had no association in the settings and got one share each in the replay."]


def test_limits(tmp_path: Path) -> None:
    site = site_of(tmp_path, conf=CONF, dump=DUMP, qos=QOS)
    jobs: dict[str, tuple[dict[str, Any], list[tuple[float, float]]]] = {
        "of accounts": ({"gpus": 2.0, "cpus": 4.0}, [(2, 10), (4, 6), (1, 2)]),
        "of the QOS instead": ({"qos": "high", "user": "bob"}, [(1, 2), (1, 4), (1, 6)]),
        "of the QOS of the partition first": ({"qos": "high", "user": "bob", "partition": "quick"},
                                              [(1, 2), (1, 3), (1, 4), (1, 8)]),
        "of a user with none": ({"account": "sci", "user": "dean"}, [(1, 10)]),
        "broken alone": ({"gpus": 5.0, "qos": "high", "user": "bob"}, [(1, 2), (5, 6)]),
    }  # fmt: skip
    ours, doubts = found(site, trace_of(*(job for job, _ in jobs.values())))
    for k, (name, (_, expected)) in enumerate(jobs.items()):
        of = zip(ours.takes[k], ours.caps[k], ours.binds[k], strict=True)
        pairs = [(take, ours.cap[c]) for take, c, binds in of if c >= 0 and binds]
        assert sorted(pairs) == sorted(expected), name
    # jobs of a QOS that sets GrpTRES count in that of the account, too
    sci = int(np.flatnonzero(ours.cap == 10)[0])
    assert ((ours.caps == sci) & (ours.takes > 0)).any(axis=1).all()
    assert doubts == [
        "1 job ran above a limit of the settings, the first above 4 gres/gpu of qos; these limits are ignored for "
        "these jobs."
    ]
    free = site_of(tmp_path, conf=CONF.replace("Enforce=limits", "Enforce=associations"), dump=DUMP, qos=QOS)
    assert (found(free, trace_of({}))[0].caps == -1).all()


def test_priority_and_usage(tmp_path: Path) -> None:
    site = site_of(tmp_path, conf=CONF, dump=DUMP, qos=QOS)
    ours, _ = found(site, trace_of({"cpus": 4.0, "gpus": 2.0}, {"qos": "high", "partition": "quick", "gpus": 8.0}))
    # nodes 1 of 5, CPUs of 128; GPUs of those of the partition; QOS 10 of 10; job factor 5 of 5
    sizes = 64 * (1 / 5 + 4 / 128) / 2, 64 * (1 / 5 + 1 / 128) / 2
    assert ours.bonus == pytest.approx([sizes[0] + 32 * 2 / 24 + 10 / 5, sizes[1] + 32 * 8 / 16 + 100 + 10])
    assert ours.charge == pytest.approx([4 + 20, 2 * 1])  # no weights are those of CPUs; UsageFactor 2
    most = site_of(tmp_path, conf=CONF + "PriorityFlags=MAX_TRES,NO_NORMAL_QOS\n", qos=QOS)
    ours, _ = found(most, trace_of({"cpus": 4.0, "gpus": 2.0, "qos": "high"}))
    assert ours.charge == pytest.approx([40])
    assert ours.bonus == pytest.approx([sizes[0] + 32 * 2 / 24 + 10 / 5 + 1000])


def test_files_and_what_slurm_shows_give_one_site() -> None:
    at = LOGS / "two_kinds"
    conf = read_site([at / "slurm.conf"])
    shown = read_site([at / name for name in ("config.txt", "nodes.txt", "partitions.txt")])
    assert [(n.name, n.features, n.tres["gres/gpu"], n.tres["cpu"]) for n in conf.nodes] == [
        (n.name, n.features, n.tres["gres/gpu"], n.tres["cpu"]) for n in shown.nodes
    ]
    assert conf.parameters | {"bf_rules": "slurm-25.11"} == shown.parameters  # slurm.conf does not tell its version
    assert [(p.name, p.nodes.tolist(), p.billing) for p in conf.partitions.values() if p.name == "gpu"] == [
        (p.name, p.nodes.tolist(), p.billing) for p in shown.partitions.values() if p.name == "gpu"
    ]


def test_parameters_have_slurms_defaults(tmp_path: Path) -> None:
    plain = site_of(tmp_path, conf="ClusterName=c\n").parameters
    assert (plain["half_life"], plain["calc_period"], plain["bf_interval"]) == (604_800, 300, 30)
    assert (plain["weight_fairshare"], plain["interval"], plain["backfill"]) == (0, 3.5, "conservative")
    other = site_of(tmp_path, conf="PriorityDecayHalfLife=0\nSchedulerParameters=bf_window=60,bf_resolution=300\n")
    assert (other.parameters["half_life"], other.parameters["bf_window"]) == (1e12, 3600)
    assert site_of(tmp_path, dump=DUMP).parameters == {}


@pytest.mark.parametrize(
    ("version", "rules"),
    [("22.05.8", "22.05"), ("23.11.11", "23.11"), ("24.05.1", "23.11"), ("24.11.7", "24.11"), ("26.05.3", "25.11")],
)
def test_versions_of_backfill(version: str, rules: str, tmp_path: Path) -> None:
    text = f"SLURM_VERSION={version}\nSchedulerParameters=bf_interval=2,sched_interval=2\n"
    found = site_of(tmp_path, conf=text).parameters
    assert (found["bf_rules"], found["interval"], found["bf_interval"]) == (f"slurm-{rules}", 2.5, 2)


def test_node_classes() -> None:
    site = read_site([], ["a100=2:8:fast", "v100=3:4"])
    assert site.cluster is not None
    assert site.cluster.node_gpus.tolist() == [8, 8, 4, 4, 4]
    ours, _ = found(site, trace_of({"gpu_type": "v100"}, {"constraint": "fast"}, {"constraint": "a100|v100"}))
    assert [int(ours.allowed[kind].sum()) for kind in ours.kind] == [3, 2, 5]
    with pytest.raises(InputError, match=r"--node-class: expected NAME=NODES:GPUS\[:FEATURE,...\], got 'a100=2'"):
        read_site([], ["a100=2"])


def test_nodes_without_cpus_leave_the_size_of_jobs_out(tmp_path: Path) -> None:
    (tmp_path / "conf").write_text("PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\n")
    ours, doubts = found(read_site([tmp_path / "conf"], ["a100=4:8"]), trace_of({"gpus": 8.0}))
    assert ours.bonus.tolist() == [0]
    assert doubts == ["Priorities leave out the size of jobs, because the CPUs of the nodes are not known."]


SETS = """NodeSet=every Nodes=ALL
NodeSet=none Feature=gone
NodeSet=itself Nodes=itself,b1
NodeSet=one Nodes=other,a1 Feature=slow
NodeSet=other Nodes=one
"""


@pytest.mark.parametrize(
    ("listed", "nodes"),
    [("every,a1", [0, 1, 2, 3]), ("none", []), ("itself", [2]), ("one", [0, 2, 3]), ("none,a2", [1]), ("", range(4))],
)
def test_node_sets(listed: str, nodes: Sequence[int], tmp_path: Path) -> None:
    site = site_of(tmp_path, conf=f"{CONF}{SETS}PartitionName=p Nodes={listed}\n")
    assert np.flatnonzero(site.partitions["p"].nodes).tolist() == list(nodes)


def test_a_file_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello\n")
    with pytest.raises(InputError, match=r"x: expected slurm\.conf, or the output of scontrol show config"):
        read_site([tmp_path / "x"])


def test_the_log_and_the_boot_time_tell_when_usage_is_computed() -> None:
    at = LOGS / "tree"
    trace = read_trace(at / "sacct.txt", format="slurm")
    by_log, by_boot = (clock(read_site([at / name]), trace, 60.0) for name in ("slurm.conf", "config.txt"))
    assert by_boot["calc_offset"] == 54  # slurmctld started 6 s before the first job came
    assert by_log["calc_offset"] == pytest.approx(54, abs=2)
    assert by_log["clock_offset"] % 60 == trace.origin.second  # type: ignore[union-attr]


def test_starts_tell_the_passes_of_backfill() -> None:
    """200 passes, a third of them with starts, the main scheduler a second off in every fifth of these."""
    moments = 0.7 + 2.006 * np.sort(np.random.default_rng(5).choice(200, 70, replace=False))
    found = passes(np.floor(moments), (2.0, 2.0), np.random.default_rng(1))
    assert found["sched_interval"] == found["bf_interval"] == pytest.approx(2.006, abs=0.003)
    assert found["sched_offset"] == found["bf_offset"] < found["bf_interval"]
    last = (moments[-1] - found["bf_offset"]) % found["bf_interval"]
    assert min(last, found["bf_interval"] - last) < 0.6
    others = moments + (np.arange(70) % 5 == 0)
    found = passes(np.floor(others), (2.0, 2.0), np.random.default_rng(1))
    assert set(found) == {"interval", "bf_interval", "bf_offset"}
    assert found["bf_interval"] == pytest.approx(2.006, abs=0.003)
    assert "sched_offset" not in passes(np.floor(moments), (2.0, 3.0), np.random.default_rng(1))
    assert passes(1e6 * np.random.default_rng(2).random(500), (30.0, 3.0), np.random.default_rng(1)) == {}
