"""Reading a cluster's own configuration: slurm.conf, scontrol and sacctmgr in all their forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from astraea.core.errors import InputError
from astraea_ops.slurm.conf import Association, Conf, read_accounts, read_conf, seconds, shares_in_the_whole
from astraea_ops.slurm.words import resources

CONF = """\
ClusterName=c   # a comment
prioritytype = priority/multifactor
SchedulerParameters=bf_interval=60,\\
bf_continue
Include nodes.conf
Include /etc/slurm/gone.conf
what is this
NodeName=DEFAULT CPUs=64 Gres=gpu:v100:4
NodeName=b[1-2,05] Feature="slow,old"
NodeSet=quick Feature=fast
PartitionName=DEFAULT MaxTime=5-0
partitionname=a Nodes=a[1-2] Default=YES
PartitionName=b,c Nodes=quick,b1 TRESBillingWeights="CPU=1.0,GRES/gpu=4"
"""


def conf_of(folder: Path, text: str, name: str = "slurm.conf") -> Conf:
    """The settings in a file with this text."""
    (folder / name).write_text(text)
    found = read_conf(folder / name)
    assert found is not None
    return found


def test_slurm_conf(tmp_path: Path) -> None:
    (tmp_path / "nodes.conf").write_text("NodeName=a[1-2] CPUs=32 Gres=gpu:a100:8 Features=fast\n")
    found = conf_of(tmp_path, CONF)
    assert found.settings["prioritytype"] == "priority/multifactor"
    assert found.settings["schedulerparameters"] == "bf_interval=60,bf_continue"
    assert list(found.nodes) == ["a1", "a2", "b1", "b2", "b05"]
    assert found.nodes["b05"] == {"cpus": "64", "gres": "gpu:v100:4", "feature": "slow,old"}
    assert found.nodes["a1"]["gres"] == "gpu:a100:8"
    assert found.partitions["c"]["tresbillingweights"] == "CPU=1.0,GRES/gpu=4"
    assert found.partitions["a"] == {"maxtime": "5-0", "nodes": "a[1-2]", "default": "YES"}
    assert found.sets == {"quick": {"feature": "fast"}}
    assert found.unread == [
        "slurm.conf, line 6: the included file /etc/slurm/gone.conf is not in the folder of slurm.conf",
        "slurm.conf, line 7: expected Name=value, got 'what is this'",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7-0", 604_800), ("5", 300), ("00:10:00", 600), ("10:30", 630), ("1-12:30", 131_400), ("300 sec", 300),
        ("2 min", 120), ("UNLIMITED", float("inf")), ("0", float("inf")),
    ],
)  # fmt: skip
def test_times(text: str, expected: float) -> None:
    assert seconds(text, "PriorityMaxAge") == expected


def test_no_time() -> None:
    with pytest.raises(InputError, match=r"PriorityMaxAge: expected a time of Slurm such as 7-0 .*, got 'soon'"):
        seconds("soon", "PriorityMaxAge")


@pytest.mark.parametrize(
    ("text", "weights", "expected"),
    [
        ("cpu=8,mem=4G,gres/gpu:A100=2", False, {"cpu": 8, "mem": 4096, "gres/gpu:A100": 2}),
        ("'gres/gpu=8,node=-1'", False, {"gres/gpu": 8}),
        ("CPU=1.0,Mem=0.25G,GRES/gpu=4.0", True, {"cpu": 1, "mem": 0.25 / 1024, "gres/gpu": 4}),
        ("", False, {}),
    ],
)
def test_resources(text: str, weights: bool, expected: dict[str, float]) -> None:
    assert resources(text, weights) == pytest.approx(expected)


DUMP = """\
# a comment
Cluster - 'c':Fairshare=1:QOS='normal'
QOS - 'high':Priority=10:GrpTRES=gres/gpu=8
Parent - 'root'
User - 'root':DefaultAccount='root':Fairshare=1
Account - 'sci':Description='a: b':Fairshare=3
what is this
Parent - 'sci'
Account - 'bio':Fairshare=parent:GrpTRES='gres/gpu=4,gres/gpu:a100=2'
Parent - 'bio'
User - 'ann':Fairshare=2:Partition='gpu'
"""
TREE = """\
Cluster|Account|User|Partition|Share|Priority|GrpTRES
c|root|||1||
c| root|root||1||
c| sci|||3||
c|  bio|||parent||gres/gpu=4,gres/gpu:a100=2
c|   bio|ann|gpu|2||
"""
SSHARE = """\
Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare
root|||0.0|10|1.0|
 root|root|1|0.25|0|0.0|1.0
 sci||3|0.75|10|1.0|
  bio||parent|0.75|10|1.0|
   bio|ann|2|1.0|10|1.0|0.5
"""


def tree_of(associations: list[Association]) -> list[tuple[object, ...]]:
    """Place and shares of each account and user; the root has no shares."""
    return [(a.account, a.user, a.parent, a.account == "root" or a.shares) for a in associations]


def test_three_forms_of_one_tree(tmp_path: Path) -> None:
    found = {}
    for name, text in {"dump": DUMP, "tree": TREE, "sshare": SSHARE}.items():
        (tmp_path / name).write_text(text)
        accounts = read_accounts(tmp_path / name)
        assert accounts is not None
        found[name] = accounts
    expected = [
        ("root", "", "", True), ("root", "root", "", True), ("sci", "", "root", 3.0), ("bio", "", "sci", None),
        ("bio", "ann", "", 2.0),
    ]  # fmt: skip
    for name, accounts in found.items():
        assert tree_of(accounts.associations) == expected, name
    assert found["dump"].qos["high"]["grptres"] == "gres/gpu=8"
    assert found["dump"].associations[-1].partition == found["tree"].associations[-1].partition == "gpu"
    for name in ("dump", "tree"):
        assert found[name].associations[3].fields["grptres"] == "gres/gpu=4,gres/gpu:a100=2"
    assert found["dump"].unread == ["dump, line 7: expected Account - 'name':..., got 'what is this'"]


@pytest.mark.parametrize("shares", ["x", "-1", "nan", "1e999", "9" * 400])
def test_shares_that_are_no_number_are_said_and_count_as_1(shares: str, tmp_path: Path) -> None:
    dump = f"Parent - 'root'\nAccount - 'sci':Fairshare={shares}\nAccount - 'ops':Fairshare=1\n"
    (tmp_path / "dump").write_text(dump)
    (tmp_path / "tree").write_text(f"Account|User|Share\nroot||1\n sci||{shares}\n ops||1\n")
    for name, line in (("dump", 2), ("tree", 3)):
        accounts = read_accounts(tmp_path / name)
        assert accounts is not None and shares_in_the_whole(accounts) == {"sci": 0.5, "ops": 0.5}
        assert [text.partition(" as ")[0] for text in accounts.unread] == [f"{name}, line {line}: expected the shares"]


def test_shares_in_the_whole(tmp_path: Path) -> None:
    (tmp_path / "dump").write_text("""\
Parent - 'root'
User - 'root':Fairshare=1
Account - 'sci':Fairshare=3
Account - 'ops':Fairshare=1
Parent - 'sci'
Account - 'bio':Fairshare=2
User - 'dean':Fairshare=1
Account - 'chem':Fairshare=1
Parent - 'bio'
User - 'ann':Fairshare=parent
User - 'bob':Fairshare=parent
""")
    accounts = read_accounts(tmp_path / "dump")
    assert accounts is not None
    found = shares_in_the_whole(accounts)
    assert found == pytest.approx({"bio": 3 / 8, "sci": 3 / 16, "chem": 3 / 16, "ops": 1 / 4})


def test_what_is_no_file_of_slurm(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello\nworld\n")
    assert read_accounts(tmp_path / "x") is None
    assert read_conf(tmp_path / "x") is None
