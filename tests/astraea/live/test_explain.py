"""What a job is told of itself, and that what it can expect comes true where no job ends and none comes."""

from __future__ import annotations

import json
from contextlib import closing
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
from live_cluster import EPOCH, GPUS, LIVE, SmallSlurm, a_job, job, no_history, play

from astraea.core.errors import InputError
from astraea.live.config import Config, read_config
from astraea.live.explain import accounts_after, as_record, as_text, explain
from astraea.live.forecast import ForecastRound, rounds_ahead
from astraea.live.ledger import Ledger, open_to_read, read_state
from astraea.live.rounds import Rounds

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
WITH_TERM = ("astraea", "astraea-released", "tiresias-l", "decayed-usage", "max-min", "gandiva-fair", "own.py:least_time")
WITHOUT = ("fifo", "yarn-cs")


def crowd(seed: int, count: int = 40) -> list[str]:
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
    with closing(open_to_read(config.state)) as db:
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
