"""The state of tenants, leases and waiting jobs, compared with numbers found by hand."""

from __future__ import annotations

import json
import math
import random
import re
from contextlib import closing, suppress
from pathlib import Path

import pytest
from live_cluster import EPOCH, LIVE, SmallSlurm, a_job, play
from places import OPS

from astraea.core.errors import InputError
from astraea_ops.live import five_lines
from astraea_ops.live.config import Config, read_config
from astraea_ops.live.explain import explain
from astraea_ops.live.ledger import Ledger
from astraea_ops.live.status import FIRST, METRICS, as_prometheus, as_record, as_text, status


@pytest.fixture
def three(tmp_path: Path) -> Config:
    """Three tenants on 16 GPUs, quotas 8, 4, 4, after the rounds of 0 to 70 s."""
    slurm = SmallSlurm(
        a_job("1", "vision", 8), a_job("2", "speech", 4), a_job("3", "nlp", 4, 5), a_job("4", "vision", 4, 30),
        a_job("5", "speech", 4, 35, requeues=False),
    )  # fmt: skip
    return play(tmp_path, slurm, 8)


def test_tenants_are_as_one_finds_by_hand(three: Config) -> None:
    found = status(three, EPOCH + 75)
    assert (found.time, found.age, found.is_late, found.gpus, found.since) == (EPOCH + 70, 5, False, 16, EPOCH)
    rows = {row.tenant: row for row in found.tenants}
    assert [(n, r.weight, r.quota, r.held, r.waiting, r.waiting_jobs) for n, r in rows.items()] == [
        ("nlp", 1, 4, 4, 0, 0), ("speech", 1, 4, 8, 0, 0), ("vision", 2, 8, 4, 8, 1),
    ]  # fmt: skip
    # nlp came at 5 and got 4 GPUs at 10; speech has a second job from 60 on; vision loses 8 GPUs then and gets 4
    seconds = {"nlp": (4 * 60, 4 * 65), "speech": (4 * 70 + 4 * 10, 4 * 70), "vision": (8 * 60 + 4 * 10, 8 * 70)}
    for name, (attained, owed) in seconds.items():
        assert rows[name].attained == pytest.approx(attained / 3600)
        assert rows[name].owed == pytest.approx(owed / 3600)
        assert rows[name].rho == pytest.approx(attained / owed)


def test_leases_by_their_end_and_waiting_jobs_since_they_lost_theirs(three: Config) -> None:
    found = status(three, EPOCH + 75)
    assert [tuple(lease) for lease in found.leases] == [
        ("2", "speech", 4, 2, 45, False), ("4", "vision", 4, 1, 45, False), ("3", "nlp", 4, 2, 55, False),
        ("5", "speech", 4, 1, math.inf, False),
    ]  # fmt: skip
    ((job, tenant, gpus, rho, waited),) = found.waiting
    assert (job, tenant, gpus, waited) == ("1", "vision", 8, 10)
    # 8 GPUs for 60 s, of 8 for 30 s and, beside job 4 of the same weight, of its half of the quota for 40 s
    assert rho == pytest.approx(8 * 60 / (8 * 30 + 4 * 40))
    read = json.loads(json.dumps(as_record(found), allow_nan=False))
    assert read["leases"][3] == {
        "job": "5", "tenant": "speech", "gpus": 4, "lease": 1, "left": None, "is_interactive": False,
    }  # fmt: skip
    assert read["partition"] == "gpu" and read["parameters"]["lease_term"] == 60


def test_the_text_has_units_and_warns_when_no_round_came(three: Config) -> None:
    text = as_text(status(three, EPOCH + 75))
    assert "16 of 16 GPUs under leases" in text and "policy astraea: lease_term 60," in text and "WARNING" not in text
    header = next(line for line in text.splitlines() if line.startswith("tenant")).split("  ")
    assert [name.strip() for name in header if name] == [
        "tenant", "weight", "quota [GPU]", "held [GPU]", "waiting [GPU]", "waiting [jobs]", "attained [GPU-h]",
        "owed [GPU-h]", "rho",
    ]  # fmt: skip
    assert ["vision", "2", "8", "4", "8", "1", "0.14", "0.16", "0.93"] in [line.split() for line in text.splitlines()]
    assert "4 leases, the next to end first" in text and "1 waiting job, by submission" in text
    assert "\n5    speech     4      1     to its end\n" in text
    assert status(three, EPOCH + 100).is_late is False  # three rounds
    late = as_text(status(three, EPOCH + 101))
    assert "WARNING: no round for 31 s; is the coordinator running?" in late


def test_interactive_jobs_are_marked(tmp_path: Path) -> None:
    how = {"requeues": False, "is_batch": False}
    slurm = SmallSlurm(a_job("1", "vision", 8, **how), a_job("2", "speech", 4, requeues=False))
    config = play(tmp_path, slurm, 8)
    lines = as_text(found := status(config, EPOCH + 75)).splitlines()
    assert [line.split(maxsplit=4) for line in lines if "to its end" in line] == [
        ["1", "vision", "8", "1", "to its end (interactive)"], ["2", "speech", "4", "1", "to its end"],
    ]  # fmt: skip
    assert [lease["is_interactive"] for lease in as_record(found)["leases"]] == [True, False]
    why = "lasts until the job ends, because it is interactive (srun or salloc)"
    assert five_lines.as_text(explain(config, "1", EPOCH + 75)).splitlines()[3] == f"its lease: {why}"


def test_long_lists_are_cut_in_the_text_only(tmp_path: Path) -> None:
    jobs = [a_job(str(k), "vision", 1, k / 10) for k in range(1, 21)]
    config = play(tmp_path, SmallSlurm(*jobs), 2, LIVE.replace("lease_term = 60", "lease_term = 600"))
    found = status(config, EPOCH + 10)
    assert len(found.leases) == 16 and [job.job for job in found.waiting] == ["17", "18", "19", "20"]
    assert "16 leases, the next to end first (the first 5)" in as_text(found, 5)
    more = found._replace(waiting=found.waiting * 3)
    text = as_text(more)
    assert f"12 waiting jobs, by submission (the first {FIRST})" in text
    assert len(text.splitlines()) == 5 + 3 + 1 + 2 + 16 + 1 + 2 + FIRST
    assert len(as_record(more)["waiting"]) == 12


def test_names_cannot_write_into_the_terminal(tmp_path: Path) -> None:
    text = LIVE.partition("weights")[0]
    config = play(tmp_path, SmallSlurm(a_job("1", "evil\x1b[31m\nname", 4)), 2, text)
    found = status(config, EPOCH + 10)
    shown = as_text(found)
    assert "\x1b" not in shown and r"evil\x1b[31m\nname" in shown
    assert as_record(found)["tenants"][0]["tenant"] == "evil\x1b[31m\nname"


def test_looking_writes_nothing(three: Config) -> None:
    before = {path.name: path.read_bytes() for path in three.state.parent.iterdir()}
    status(three, EPOCH + 75)
    after = {path.name: path.read_bytes() for path in three.state.parent.iterdir() if path.stat().st_size}
    assert {name: after[name] for name in before} == before


def test_a_state_that_is_missing_empty_or_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "live.toml").write_text(LIVE)
    config = read_config(tmp_path / "live.toml")
    with pytest.raises(InputError, match="there is no state yet"):
        status(config)
    Ledger(config.state).close()
    with pytest.raises(InputError, match="no round has been written yet"):
        status(config)
    config.state.write_bytes(b"no database " * 100)
    with pytest.raises(InputError, match="cannot be read"):
        status(config)


def test_prometheus_reads_the_same_numbers(three: Config) -> None:
    with closing(Ledger(three.state)) as ledger:
        ledger.count_round(0.5)
        ledger.count_round(0.25)
        ledger.count_failure(EPOCH, "one")
    text = as_prometheus(status(three, EPOCH + 75))
    samples = dict(re.findall(r"^([^# ].*) (\S+)$", text, re.M))
    expected = {
        'astraea_info{partition="gpu",policy="astraea"}': 1, 'astraea_gpus{partition="gpu"}': 16,
        'astraea_free_gpus{partition="gpu"}': 0,
        'astraea_leases{partition="gpu"}': 4, 'astraea_rounds_total{partition="gpu"}': 2,
        'astraea_last_round_timestamp_seconds{partition="gpu"}': EPOCH + 70,
        'astraea_round_seconds{partition="gpu"}': 0.25, 'astraea_rounds_seconds_total{partition="gpu"}': 0.75,
        'astraea_rounds_failed_total{partition="gpu"}': 1,
    }  # fmt: skip
    of_vision = {
        "weight": 2, "quota_gpus": 8, "held_gpus": 4, "waiting_gpus": 8, "waiting_jobs": 1, "longest_wait_seconds": 10,
        "attained_gpu_seconds": 8 * 60 + 4 * 10, "owed_gpu_seconds": 8 * 70,
    }  # fmt: skip
    expected |= {f'astraea_tenant_{k}{{partition="gpu",tenant="vision"}}': value for k, value in of_vision.items()}
    found = {name: float(value) for name, value in samples.items() if 'tenant="' not in name or '"vision"' in name}
    assert found == pytest.approx(expected)
    assert float(samples['astraea_tenant_longest_wait_seconds{partition="gpu",tenant="nlp"}']) == 0
    assert re.findall(r"^# TYPE (\S+)", text, re.M) == re.findall(r"^# HELP (\S+)", text, re.M) == [*METRICS]


def test_a_label_has_any_character(tmp_path: Path) -> None:
    config = play(tmp_path, SmallSlurm(a_job("1", 'a"b\\c\nd', 4)), 2, LIVE.partition("weights")[0])
    text = as_prometheus(status(config, EPOCH + 10))
    assert r'astraea_tenant_held_gpus{partition="gpu",tenant="a\"b\\c\nd"} 4.0' in text.splitlines()


def test_the_dashboard_shows_metrics_that_are_there() -> None:
    text = (OPS / "docs" / "live" / "dashboard.json").read_text(encoding="utf-8")
    panels = json.loads(text)["panels"]
    shown = {name for panel in panels for x in panel["targets"] for name in re.findall(r"astraea_\w+", x["expr"])}
    page = (OPS / "docs" / "live" / "operations.md").read_text(encoding="utf-8")
    assert shown == METRICS.keys() == {*re.findall(r"`(astraea_\w+)`", page)}
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.parametrize("seed", range(12))
def test_a_state_that_is_damaged_in_the_middle_is_one_sentence(tmp_path: Path, seed: int) -> None:
    config = play(tmp_path, SmallSlurm(*(a_job(str(k), "vision", 1, k / 10) for k in range(60))), 20)
    rng = random.Random(seed)
    content = bytearray(config.state.read_bytes())
    start = rng.randrange(4096, len(content) - 4096)
    content[start : start + 4096] = rng.randbytes(4096) if seed % 2 else bytes(4096)
    config.state.write_bytes(content)
    with suppress(InputError):  # or the damage is where nothing is read
        status(config, EPOCH + 200)
    config.state.write_bytes(content[:start])
    with pytest.raises(InputError, match=r"leases\.sqlite: cannot be read"):
        status(config, EPOCH + 200)
