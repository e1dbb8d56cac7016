"""The five lines on a job compared with numbers found by hand, and forecasts compared with the rounds."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
from live_cluster import EPOCH, GPUS, LIVE, SmallSlurm, a_job, job, no_history, play
from live_slurm import INTERVAL, LEASE, Site, until

from astraea.cli.main import main
from astraea.core.errors import InputError
from astraea_ops.live.answers import Job
from astraea_ops.live.config import Config, read_config
from astraea_ops.live.explain import Explanation, ForecastRound, accounts_after, explain, rounds_ahead
from astraea_ops.live.five_lines import as_text
from astraea_ops.live.ledger import leases_of, open_to_read, read_state
from astraea_ops.live.partition import LATE_ENDS
from astraea_ops.live.rounds import Rounds
from astraea_ops.live.slurm import Slurm
from astraea_ops.live.status import as_record

OWN = '''
import astraea
from astraea.cluster.policy import LeaseTerm, all_candidates, fits, grant, is_open


@astraea.policy("least-time", LeaseTerm)
def least_time(s):
    """The job with the least time on its GPUs first."""
    while True:
        best = -1
        for j in all_candidates(s):
            if is_open(s, j) and fits(s, j) and (best < 0 or s.job[j].executed < s.job[best].executed):
                best = j
        if best < 0:
            break
        grant(s, best)
'''
WITH_TERM = ("astraea", "astraea-released", "tiresias-l", "decayed-usage", "max-min", "gandiva-fair", "kai",
             "own.py:least_time")  # fmt: skip
WITHOUT = ("fifo", "yarn-cs", "kueue-afs")


def crowd(seed: int, count: int = 40) -> list[Job]:
    """Jobs that come in the first 400 s and never end; gangs that may be spread, so that GPUs are one pool."""
    rng = np.random.default_rng(seed)
    return [
        job(str(k), account=str(rng.choice(["vision", "speech", "nlp"])), demand=int(rng.choice([1, 1, 2, 4])),
            submit=EPOCH + float(submit), eligible=EPOCH + float(submit), requeues=bool(rng.random() < 0.95))
        for k, submit in enumerate(np.sort(rng.uniform(0, 400, count)).round(2))
    ]  # fmt: skip


def settings(policy: str) -> str:
    text = LIVE + f'policy = "{policy}"\n'
    return text.replace("parameters", "#") if policy in WITHOUT else text


@pytest.mark.parametrize("policy", [*WITH_TERM, *WITHOUT])
def test_the_forecast_comes_true_to_the_round_if_no_job_ends(tmp_path: Path, policy: str) -> None:
    (tmp_path / "own.py").write_text(OWN)
    slurm, seen = SmallSlurm(*crowd(7)), 45
    config = play(tmp_path, slurm, seen, settings(policy))
    with open_to_read(config.state) as db:
        state = read_state(db)
    assert state is not None
    live = Rounds(config, GPUS, EPOCH, state, no_history)
    came: list[ForecastRound] = []
    for number in range(seen, seen + 150):
        result = live.play(slurm.show(EPOCH + number * config.interval))
        for action in result.actions:
            slurm.do(action)
        outcomes = {name: [lease.job for lease in result.over if lease.outcome == name]
                    for name in ("renewed", "not renewed", "revoked")}  # fmt: skip
        granted = [action.job.id for action in sorted(result.actions, key=lambda a: a.rank) if action.what == "release"]
        one = ForecastRound(number * config.interval, 0, granted, outcomes["renewed"],
                            [*outcomes["not renewed"], *outcomes["revoked"]])  # fmt: skip
        if any(one[2:]):
            came.append(one)
    ahead = rounds_ahead(accounts_after(config, state), seen)
    assert list(takewhile(lambda one: one.time < (seen + 150) * 10 and not one.ended, ahead)) == came
    assert (policy in WITHOUT) == (not came)


@pytest.fixture
def three(tmp_path: Path) -> Config:
    """Three tenants on 16 GPUs after the rounds of 0 to 110 s; job 2 ends at 100 s."""
    slurm = SmallSlurm(
        a_job("1", "vision", 8), a_job("2", "speech", 4), a_job("3", "nlp", 4, 5), a_job("4", "vision", 4, 30),
        a_job("5", "speech", 4, 35, requeues=False), a_job("6_1", "nlp", 4, 38, depends=True),
        a_job("7", "speech", 8), a_job("8", "nlp", 0), seconds={"2": 100},
    )  # fmt: skip
    return play(tmp_path, slurm, 12)


def at(second: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(EPOCH + second))


def test_a_job_is_explained_in_five_lines(three: Config) -> None:
    sure = ", if no job ends, arrives or changes before then"
    texts = {id: as_text(explain(three, id, EPOCH + 115)) for id in "12345"}
    assert texts["1"].splitlines() == [
        f"job 1 of vision has waited for 8 GPUs since {at(60)} (50 s): 4 of 16 are free",
        # 8 GPUs for 60 s; 8 GPUs for 30 s, then its half of the quota; its tenant had 4 GPUs more from 60 s on
        "owed: the job has had 0.13 of 0.16 GPU-h (86%); vision has had 0.19 of 0.24 GPU-h (77%) and holds 4 of its "
        "quota of 8 GPUs",
        "ahead of it: no waiting job; 1 lease of other jobs renewed before then",
        f"its lease: none now, 1 before, the last until {at(60)}",
        f"expected: lease 2 at {at(130)}, in 15 s{sure}",
    ]  # fmt: skip
    assert texts["2"].splitlines() == [
        f"job 2 of speech has ended at {at(100)}, in lease 2: it had 4 GPUs",
        "had: 0.11 GPU-h in 2 leases; speech has had 0.17 of 0.12 GPU-h (136%) and holds 4 of its quota of 4 GPUs",
        "waited: 0 s before its first lease, 0 s in all",
        f"its leases: 1 from {at(0)} to {at(60)}, renewed; 2 from {at(60)} to {at(100)}, ended",
        "expected: nothing more; a later job with this id counts as new",
    ]
    assert texts["3"].splitlines()[2:] == [
        "ahead of it: 1 waiting job with 8 GPUs: 1 of vision; 1 lease of other jobs renewed before then",
        f"its lease: ends at {at(130)}, in 15 s",
        f"expected: it loses its GPUs at {at(130)} and gets lease 3 at {at(180)}, in 65 s{sure}",
    ]
    assert texts["4"].splitlines()[3:] == [
        f"its lease: ends at {at(120)}, in 5 s", f"expected: its lease is renewed at {at(120)}{sure}",
    ]  # fmt: skip
    assert texts["5"].splitlines()[3:] == ["its lease: lasts until the job ends", "expected: it keeps its GPUs"]
    assert all(len(text.splitlines()) == 5 for text in texts.values())
    read = json.loads(json.dumps(as_record(explain(three, "1", EPOCH + 115)), allow_nan=False))
    assert (read["state"], read["granted"], read["ahead"], read["renewals"]) == ("waits", EPOCH + 130, [], 1)
    assert [lease["outcome"] for lease in read["leases"]] == ["not renewed"]


@pytest.mark.parametrize(
    ("id", "sentence"),
    [
        ("6_1", "has no lease and gets none now: it depends on another job, or is to begin later"),
        ("6", "is an array: name one of its 1 tasks, such as 6_1"),
        ("7", "gets none now: it will never run: it asks for 8 GPUs, but its tenant speech has a quota of 4"),
        ("8", "gets none now: it is left to Slurm, because it asks for no GPU"),
        ("9\x1b", r"job 9\x1b is unknown to the coordinator of partition gpu"),
    ],
)
def test_a_job_without_accounts_is_one_sentence(three: Config, id: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        explain(three, id)
    assert sentence in str(error.value) and "\n" not in str(error.value)


def lines_of(config: Config, id: str) -> list[str]:
    return as_text(explain(config, id, EPOCH + 11)).splitlines()


def test_why_a_job_waits_that_the_policy_would_grant(tmp_path: Path) -> None:
    """The forecast uses what the last round found; such jobs get no GPUs in it until a lease ends."""
    slurm = SmallSlurm(
        a_job("1", "vision", 5), a_job("2", "vision", 5), a_job("3", "speech", 4, 5),
        *(a_job(f"7_{k}", "nlp", 1, array="7", at_once=1) for k in (1, 2)),
    )  # fmt: skip
    config = play(tmp_path, slurm, 2)
    for id, why in (("3", "no node has 4 GPUs free"), ("7_2", "its array already runs 1 task at once, its limit")):
        found = lines_of(config, id)
        assert found[0].endswith(f": {why}")
        assert found[4].startswith(f"expected: lease 1 at the earliest at {at(60)}, in 49 s, if no job ends")


def test_jobs_that_have_to_end_where_no_lease_does(tmp_path: Path) -> None:
    jobs = [a_job(str(k), "vision", 8, k / 10) for k in range(1, 6)]
    config = play(tmp_path, SmallSlurm(*jobs), 2, settings("fifo"))
    *_, before, lease, expected = lines_of(config, "5")
    assert before.startswith("ahead of it: 2 waiting jobs with 16 GPUs: 3 of vision, 4 of vision; 0 leases of other")
    assert lease == "its lease: none now, none before"
    assert expected == (
        "expected: lease 1 when 3 jobs have ended, if the jobs that have run longest end first; no lease ends by itself"
    )
    assert as_record(explain(config, "5"))["granted"] is None


def test_it_warns_when_no_round_came_and_counts_from_now(three: Config) -> None:
    text = as_text(explain(three, "1", EPOCH + 500))
    assert text.endswith("WARNING: no round for 390 s, is the coordinator running?")
    assert f"expected: lease 2 at {at(510)}, in 10 s, if" in text


def test_a_damaged_state_is_one_sentence(three: Config) -> None:
    with closing(sqlite3.connect(three.state)) as db, db:
        db.execute("update job set memory = '[0,'")
    with pytest.raises(InputError, match=r"leases.sqlite: cannot be read and may be damaged \(Expecting value"):
        explain(three, "1")
    three.state.unlink()
    with pytest.raises(InputError, match=r"leases.sqlite: there is no state yet; has the coordinator run\?$"):
        explain(three, "1")


def test_the_command(three: Config, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["live", "explain", "5", "--config", str(three.state.with_name("live.toml"))]
    assert main(words) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lease_end"] is None
    assert main([*words[:2], "77", *words[3:]]) == 2
    assert "job 77 is unknown" in capsys.readouterr().err


@pytest.mark.slurm
@pytest.mark.parametrize(("tenants", "within"), [("aaaaa", 2 * INTERVAL), ("aabbcc", LEASE + 2 * INTERVAL)])
def test_the_forecast_comes_true_on_a_slurm(site: Callable[..., Site], tenants: str, within: float) -> None:
    """Slurm starts jobs seconds late, which breaks ties between tenants otherwise, by one lease at most."""
    here = site()
    for tenant in tenants:  # of one size, as the forecast places no gangs
        here.submit(tenant, 2, 1000)
    until("jobs may be stopped", 30, lambda: time.time() - Slurm("gpu").boot() > LATE_ENDS)
    here.start()
    until("one has lost its lease", 60, lambda: " requeue job " in here.log)
    time.sleep(2 * INTERVAL)  # it is seen off its GPUs
    config = replace(read_config(here.at / "live.toml"), state=here.at / "copy.sqlite")
    with open_to_read(here.state) as db, closing(sqlite3.connect(config.state)) as copy:
        db.backup(copy)  # the state moves on
    now = time.time()
    explained = [explain(config, job.id, now) for job in here.jobs]
    assert {"waits", "runs"} == {one.state for one in explained}
    for one in explained:
        if one.state == "waits":
            assert first_grant(here, one) == pytest.approx(one.granted, abs=within), (one, here.log)


def first_grant(here: Site, found: Explanation) -> float:
    """Wait until the explained job gets a lease, and return the time."""
    came: list[float] = []

    def has_come() -> bool:
        with open_to_read(here.state) as db:
            came[:] = [lease.granted for lease in leases_of(db, found.job) if lease.granted > found.time]
        return bool(came)

    until("it gets a lease", 60, has_come)
    return came[0]
