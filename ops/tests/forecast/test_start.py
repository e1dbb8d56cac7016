"""Forecasts of a job's start: small queues with a known answer, and how often intervals are right."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from forecasts import WAITED, log, measured
from recorded_logs import recorded

from astraea.cli.main import main
from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.cluster.policies import get_policy
from astraea.cluster.rules import no_rules
from astraea.core.errors import InputError
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace
from astraea_ops.forecast.moment import Moment, moment_of, queue_of, wish
from astraea_ops.forecast.start import PROMISE, REACTION, WIDER, Change, would_start
from astraea_ops.forecast.words import as_text
from astraea_ops.site.site import read_site

SLURM = get_policy("slurm")
NOWHERE = read_site([])


def moment(trace: Trace, job: str, cluster: Cluster, now: float, limit: float = np.nan) -> Moment:
    """The queue of a log of `recorded`, whose jobs all have one time limit, at some second."""
    begin = pd.Timestamp(2026, 3, 1)
    dated = dataclasses.replace(trace, origin=begin, time_limit=np.full(len(trace), limit))
    at = (begin + pd.Timedelta(seconds=now)).isoformat()
    return queue_of(dated, wish(f"{job},at={at}"), cluster, SLURM, NOWHERE)


def test_an_empty_cluster_starts_it_at_once() -> None:
    queue = moment(recorded("a1 4 0 0 100", "b1 1 0 0 500"), "gpus=4,account=a,time=1h", Cluster(1), 200.0)
    found = would_start(queue, draws=4)
    assert found.at_once
    assert found.interval[0] == 0
    assert found.interval[2] <= 2 * REACTION
    lines = as_text(found, queue).splitlines()
    assert len(lines) == 5
    assert "7 of 8 GPUs are free, 1 job runs" in lines[0]
    assert lines[2:4] == ["it waits for: nothing", "sooner: not possible"]


def test_without_a_past_it_starts_when_time_limits_are_over() -> None:
    queue = moment(recorded("a1 6 0 0 9000"), "gpus=8,account=a,time=1h", Cluster(1), 1000.0, limit=3000.0)
    found = would_start(queue, draws=4)
    middle = found.interval[1]
    assert middle == pytest.approx(2000, abs=5)
    assert found.interval == pytest.approx((middle / WIDER - REACTION, middle, middle * WIDER + REACTION))
    assert found.last["job_id"].tolist() == ["a1"]
    assert (found.fewer, found.at_once) == (Change(2, 0.0), False)
    assert "with 2 GPUs it would start at once" in as_text(found, queue)


def test_a_shorter_limit_is_used_by_backfill() -> None:
    """Job b1 waits for all GPUs until a1 ends at its limit; what ends before can start."""
    jobs = recorded("a1 6 0 0 9000", "b1 8 100 9000 9100", "c1 1 0 0 10")
    queue = moment(jobs, "gpus=2,account=c,time=2h", Cluster(1), 1000.0, limit=3000.0)
    found = would_start(queue, draws=4)
    assert not found.at_once
    assert found.shorter == Change(1800.0, 0.0)
    assert found.fewer is None
    assert found.ahead[["job_id", "demand"]].to_numpy().tolist() == [["b1", 8]]
    assert "with a limit of 30 min backfill would start it at once" in as_text(found, queue)


def test_fewer_gpus_start_sooner_though_not_at_once() -> None:
    """Half of the GPUs are free when a1 ends, all of them when a2 ends; no time limit is short enough to help."""
    jobs = recorded("a1 4 0 0 9000", "a2 4 1000 1000 9000")
    queue = moment(jobs, "gpus=8,account=a,time=1h", Cluster(1), 1500.0, limit=3000.0)
    found = would_start(queue, draws=4)
    assert found.interval[1] == pytest.approx(2500, abs=5)
    assert found.fewer is not None
    assert found.fewer.value == 4
    assert found.fewer.start == pytest.approx(1500, abs=5)
    assert found.shorter is None
    assert "with 4 GPUs it would probably start after about 25 min" in as_text(found, queue)


def test_fewer_gpus_stay_below_a_limit() -> None:
    """The cluster is half empty, but account a may have eight GPUs and holds four."""
    queue = moment(recorded("a1 4 0 0 9000"), "gpus=8,account=a,time=1h", Cluster(2), 100.0, limit=3000.0)
    n = len(queue.rules.kind)
    takes = np.array([4.0, 8.0])[:, None]  # of a1 and the job in question
    assert takes.shape == (n, 1)
    limited = queue.rules._replace(cap=np.array([8.0]), caps=np.zeros((n, 1), np.int64), takes=takes)
    found = would_start(queue._replace(rules=limited), draws=2)
    assert not found.at_once
    assert found.fewer == Change(4, 0.0)


def test_jobs_stay_on_their_nodes() -> None:
    """Eight GPUs are free, but four on either node."""
    jobs = recorded("a1 4 0 0 9000", "a2 4 0 0 9000")
    queue = moment(jobs, "gpus=8,account=a,time=1h", Cluster(2), 100.0, limit=3000.0)
    held = queue.running.assign(held=pd.Series([[(0, 4)], [(1, 4)]], dtype=object))
    assert would_start(queue, draws=2).at_once
    found = would_start(queue._replace(running=held), draws=2)
    assert not found.at_once
    assert found.fewer == Change(4, 0.0)


SITE = """\
NodeName=a[1-2] CPUs=8 Gres=gpu:4
NodeName=n[1-2] CPUs=8 Gres=gpu:8
PartitionName=gpu Nodes=ALL Default=YES
PartitionName=old Nodes=a[1-2]
"""
RUNS = """\
JobID|Account|User|Partition|Submit|Start|End|State|ElapsedRaw|TimelimitRaw|ReqTRES|AllocTRES|NodeList
1|x|u|gpu|2026-03-01T10:00:00|2026-03-01T10:00:20|2026-03-01T10:00:30|COMPLETED|10|60|gres/gpu=1|gres/gpu=1|n1
2|x|u|gpu|2026-03-01T10:00:20|2026-03-01T10:00:30|Unknown|RUNNING|600|600|gres/gpu=8|gres/gpu=8|n1
3|x|u|gpu|2026-03-01T10:00:20|2026-03-01T10:00:30|Unknown|RUNNING|600|600|gres/gpu=8|gres/gpu=8|cpu1,n2
"""


def test_nodes_are_those_of_the_settings(tmp_path: Path) -> None:
    """Nodes a1 and a2 are idle, and no job of the log ran there."""
    (tmp_path / "slurm.conf").write_text(SITE)
    (tmp_path / "log.txt").write_text(RUNS)
    site = read_site([tmp_path / "slurm.conf"])
    assert site.cluster is not None
    job = wish("gpus=4,account=x,partition=old,time=1h")
    queue = queue_of(read_trace(tmp_path / "log.txt"), job, site.cluster, SLURM, site)
    assert queue.running["held"].tolist() == [[(2, 8)], [(3, 8)]]
    assert would_start(queue, draws=2).at_once


def test_run_times_are_those_of_earlier_jobs() -> None:
    """Every job before ran for a tenth of its limit, so this one is expected to end soon as well."""
    jobs = recorded(*(f"a{k} 1 {k} {k} {k + 300}" for k in range(40)), "a99 8 400 400 9000")
    queue = moment(jobs, "gpus=8,account=a,time=1h", Cluster(1), 500.0, limit=3000.0)
    quiet = queue._replace(past=queue.past.assign(submit_time=0.0))  # nobody comes
    assert would_start(quiet, draws=8).interval[1] == pytest.approx(200, abs=10)


def test_where_a_log_ends_its_jobs_go_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Job 3 still runs, job 4 still waits; with the command."""
    head = "JobID|Account|User|Submit|Start|End|State|ElapsedRaw|TimelimitRaw|ReqTRES|AllocTRES"
    day = "2026-03-01T"
    lines = [
        f"1|a|u|{day}10:00:00|{day}10:00:00|{day}10:10:00|COMPLETED|600|60|gres/gpu=8|gres/gpu=8",
        f"3|a|u|{day}10:10:00|{day}10:10:00|Unknown|RUNNING|1200|60|gres/gpu=8|gres/gpu=8",
        f"4|a|u|{day}10:20:00|Unknown|Unknown|PENDING|0|60|gres/gpu=8|",
    ]
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([head, *lines]) + "\n")
    assert main(["audit", str(path), "--nodes", "1", "--would-start", "gpus=4,account=a,time=30m"]) == 0
    found = capsys.readouterr().out.splitlines()
    assert "submitted at 2026-03-01 10:30:00: 0 of 8 GPUs are free, 1 job runs, 1 waits" in found[0]
    assert "1 waiting job with 8 GPUs (4 of a)" in found[2]
    assert main(["audit", str(path), "--nodes", "1", "--would-start", "gpus=4,account=b"]) == 2
    assert "account must be one of a; got 'b'" in capsys.readouterr().err
    assert main(["audit", str(path), "--nodes", "1"]) == 2
    assert "give either --out or --would-start" in capsys.readouterr().err


def test_too_large_a_job_is_refused() -> None:
    with pytest.raises(InputError, match="gpus=9 is more than the 8 GPUs that can be used"):
        would_start(moment(recorded("a1 4 0 0 100"), "gpus=9,account=a", Cluster(1), 50.0), draws=2)


def test_nothing_of_the_future_is_known() -> None:
    """The queue is the same if the log ends at that time, except for running jobs."""
    trace, cluster, policy, _ = log("small_nodes")
    now = 120.0
    runs = recorded_runs(trace)
    asked = trace.job_id[int(np.searchsorted(trace.submit_time, now))]
    before = (trace.submit_time < now) | (trace.job_id == asked)
    other = dataclasses.replace(trace._take(np.flatnonzero(before)), recorded=None)
    cut = runs[(runs["start"] < now) & runs["job_id"].isin(other.job_id)].assign(end=lambda r: r["end"].clip(upper=1e6))
    cut.loc[cut["end"] > now, "end"] = 1e6  # whenever that is
    seen = moment_of(trace, runs, asked, cluster, policy, no_rules(trace, cluster), now)
    same = moment_of(other, cut, asked, cluster, policy, no_rules(other, cluster), now)
    for name in ("running", "waiting", "past"):
        columns = [c for c in getattr(seen, name).columns if c != "row"]
        pd.testing.assert_frame_equal(getattr(seen, name)[columns], getattr(same, name)[columns])
    assert len(seen.running) > 3
    assert len(seen.waiting) > 3
    assert np.array_equal(seen.rules.usage, same.rules.usage)


@pytest.mark.parametrize("name", ["tree_deep", "two_kinds_more"])
def test_intervals_hold_what_they_promise(name: str) -> None:
    """On logs that had no part in choosing `WIDER`; 30 forecasts of which 80 % are right have 7 % of noise."""
    found = measured(*log(name), forecasts=30, draws=20)
    assert PROMISE - 0.08 <= found.inside.mean()
    waited = found.true > WAITED
    assert waited.sum() >= 15
    # from now to for ever is always right, and says nothing
    assert np.median((found.high - found.low)[waited]) < 5 * np.median(found.true[waited])
