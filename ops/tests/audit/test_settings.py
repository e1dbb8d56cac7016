"""The settings of a cluster on the page: those that the replay follows, and those that it ignores, by name."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from places import OPS
from shell import refused

from astraea.cli.main import main
from astraea.cluster.cluster import Cluster
from astraea.traces.readers import read_trace
from astraea_ops.audit.replays import plan_of
from astraea_ops.audit.settings import the_settings
from astraea_ops.site.site import Site, read_site

LOG = OPS / "tests" / "data" / "slurm" / "limits"
FILES = ["--slurm-conf", str(LOG / "slurm.conf"), "--scontrol", str(LOG / "nodes.txt"),
         "--sacctmgr", str(LOG / "accounts.txt"), "--sacctmgr", str(LOG / "qos.txt")]  # fmt: skip


def section_of(site: Site, anonymize: bool = False, **given: Any) -> str:
    """The section about a site, as text."""
    cluster = site.cluster or Cluster(4, 8)
    own, _, doubts = plan_of(site, read_trace(LOG / "sacct.txt"), "slurm", given, cluster)
    return json.dumps(the_settings(site, own, doubts, anonymize)["parts"], ensure_ascii=False)


def test_the_page_names_the_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["audit", str(LOG / "sacct.txt"), *FILES, "--what-if", "fifo", "--out"]
    assert main([*argv, str(tmp_path / "named")]) == 0
    assert "The shares are those of the accounts (--sacctmgr)." in capsys.readouterr().out
    page = unescape(re.sub(r"<[^>]+>", " ", (tmp_path / "named" / "index.html").read_text()))
    for words in (
        "The settings of the cluster", "Read: slurm.conf, nodes.txt, accounts.txt, qos.txt", "PriorityWeightQOS",
        "20000", "MaxTRESPerUser gres/gpu=8", "PriorityTier 5", "GrpTRES gres/gpu=12",
    ):  # fmt: skip
        assert words in page, words
    assert main([*argv, str(tmp_path / "nameless"), "--anonymize"]) == 0
    for file in (tmp_path / "nameless").iterdir():
        assert not re.search(r"\b(vision|speech|nlp|games|accounts\.txt)\b", file.read_text()), file


MORE = """\
PreemptType=preempt/qos
PriorityFlags=MAX_TRES,NO_FAIR_TREE
SchedulerParameters=bf_interval=60,bf_continue,nohold_on_prolog_fail
SelectTypeParameters=CR_Core_Memory
Licenses=matlab:4
SlurmctldPort=6817
NodeName=n[1-3] Gres=gpu:8
NodeName=n4 Gres=gpu:8 Weight=5 State=DRAIN
PartitionName=gpu Nodes=ALL OverSubscribe=FORCE:2
this is no setting
"""


def test_what_is_not_modelled(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(MORE)
    (tmp_path / "qos").write_text("Name|Priority|GrpTRES|GrpTRESMins\nhigh|10|gres/gpu=4|gres/gpu=600\n")
    text = section_of(read_site([tmp_path / "slurm.conf", tmp_path / "qos"]))
    kept, _, left = text.partition("The replay ignores:")
    for words in (
        "PreemptType", "preempt/qos", "NO_FAIR_TREE", "bf_continue", "nohold_on_prolog_fail", "CR_Core_Memory",
        "matlab:4", "Weight", "n4", "OverSubscribe FORCE:2", "GrpTRESMins gres/gpu=600",
    ):  # fmt: skip
        assert words in left, words
    for words in ("MAX_TRES", "SchedulerParameters bf_interval", "GrpTRES gres/gpu=4"):
        assert words in kept.replace("GrpTRESMins", ""), words
    assert "6817" not in text
    assert "slurm.conf, line 10: expected Name=value, got 'this is no setting'" in text


def test_without_settings() -> None:
    text = section_of(read_site([]), half_life=1200)
    assert "no slurm.conf was given (--slurm-conf)" in text
    assert '["half_life", "1,200"]' in text
    assert '["calc_offset", "0"]' not in text  # the log tells it


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--nodes", "4", *FILES], "--nodes: the cluster's settings already give 4 x 8 GPUs; leave --nodes out"),
        (["--slurm-conf", str(LOG / "sacct.txt")], "sacct.txt: expected slurm.conf, or the output of scontrol"),
        (["--scontrol", "gone"], "gone: there is no such file"),
        (["--node-class", "a100"], "--node-class: expected NAME=NODES:GPUS"),
    ],
)
def test_settings_that_cannot_be(
    more: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(["audit", str(LOG / "sacct.txt"), *more, "--out", str(tmp_path / "out")], capsys, sentence)
    assert not (tmp_path / "out").exists()
