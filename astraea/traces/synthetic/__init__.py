"""Seeded synthetic traces, made from published statistics only, which are in ``venus.toml`` and ``philly.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray, apportion
from astraea.core.checks import whole_number
from astraea.core.errors import InputError
from astraea.core.frozen import read_only
from astraea.core.units import DAY
from astraea.traces.synthetic import draw
from astraea.traces.trace import Trace

SYNTHETIC: Final = ("venus", "philly")
"""Names of synthetic traces."""

HISTORY_DAYS, WINDOW_DAYS = 42, 14

#: The largest gang of a tenant, as a part of its quota: users who need many GPUs belong to a large virtual cluster
LARGEST_GANG: Final = 0.6

#: Shares of a user's templates among that user's runs
TEMPLATE_SHARES: Final = (0.75, 0.2, 0.05)


@read_only
@dataclass(frozen=True)
class Recipe:
    """Everything known about a workload before any random draw.

    `stream` is the number of the random stream, so that workloads with the same seed are independent. `start` is the
    Monday on which the evaluated window begins. Users queued in a cluster of `gpus` GPUs. `jobs` are submitted in the
    window, `history_jobs` before. log(running time) is uniform between `knots` [s]; `tilt` is as in `draw.end_states`.

    The table `sizes` has for each gang size: `demand` [GPU], `share` of all jobs [%], `percent`, the distribution
    function of running time at the inner knots [%], and `states`, relative frequencies of completed, cancelled and
    failed. The table `tenants` has for each tenant: `weight` as in [Ye2022] Eq. 6, `load`, the requested GPU-time
    relative to the quota, `taste` (a gang of d GPUs is `d**taste` times as likely as among all jobs), `users`, and
    `swing` as in `draw.activity`. The table `compromises` has the published statistics that cannot all hold: columns
    statistic, published, here (mean over the seeds of the scale ``paper``) and why.
    """

    name: str
    stream: int
    start: pd.Timestamp
    gpus: int
    jobs: int
    history_jobs: int
    tenants: pd.DataFrame
    sizes: pd.DataFrame
    knots: list[float]
    tilt: list[float]
    compromises: pd.DataFrame

    @classmethod
    def load(cls, name: str) -> Self:
        """Read what is known about a workload from its table; `InputError` if there is none."""
        if name not in SYNTHETIC:
            raise InputError(f"synthetic trace: unknown name {name!r}; expected one of {', '.join(sorted(SYNTHETIC))}")
        known = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
        tenants = known.pop("tenants")
        sizes = pd.DataFrame(known.pop("sizes"))
        return cls(
            name=name,
            start=pd.Timestamp(known.pop("start")),
            history_jobs=HISTORY_DAYS * known.pop("history_jobs_a_day"),
            tenants=pd.DataFrame({"swing": 0.0} | about for about in tenants.values()).set_index(pd.Index(tenants)),
            compromises=pd.DataFrame(known.pop("compromises")),
            sizes=sizes.assign(percent=sizes["running_times"].map(known.pop("running_times"))),
            **known,
        )

    def generate(self, seed: int) -> Trace:
        """Make two weeks of jobs, with the six weeks before them as history."""
        rng = np.random.default_rng([self.stream, seed])
        days = HISTORY_DAYS + WINDOW_DAYS
        rate = draw.intensity(rng, days)
        active = draw.activity(rng, days, self.tenants["swing"].to_numpy())
        users = draw.Users(rng, self.tenants["users"].to_numpy(), len(self.sizes))
        bins = int(HISTORY_DAYS * DAY) // draw.BIN
        past = self._jobs(rng, users, rate[:bins], active[:HISTORY_DAYS], self.history_jobs)
        present = self._jobs(rng, users, rate[bins:], active[HISTORY_DAYS:], self.jobs)
        present["submit_time"] += int(HISTORY_DAYS * DAY)
        jobs = pd.concat([past, present], ignore_index=True)
        names = self.tenants.index.to_numpy(dtype=object)[jobs["tenant"]]
        jobs["user"] = names + "-" + jobs["user"].astype(str)
        jobs["tenant"] = names
        jobs["job_id"] = np.arange(1, len(jobs) + 1)
        trace = Trace.from_frame(
            jobs.astype({c: object for c in ("tenant", "user", "state")}),
            name=self.name,
            weights={str(t): float(w) for t, w in self.tenants["weight"].items()},
            origin=self.start - pd.Timedelta(days=HISTORY_DAYS),
        )
        return trace.window(HISTORY_DAYS * DAY, days * DAY)

    @property
    def quota(self) -> FloatArray:
        """Whole GPUs of each tenant in the cluster where its users queued, [Ye2022] Eq. 6."""
        weight = self.tenants["weight"].to_numpy()
        quota: FloatArray = np.floor(self.gpus * weight / weight.sum())
        return quota

    def _jobs(
        self, rng: np.random.Generator, users: draw.Users, rate: FloatArray, active: FloatArray, n: int
    ) -> pd.DataFrame:
        """Make `n` jobs in order of submission, tenants and users by number; every gang size has its exact share."""
        submit = draw.submit_times(rng, rate, n)
        tenant, size, user, template = self._sessions(rng, users, submit, active)
        score = users.pace[user, size, template] + np.sqrt(draw.WITHIN) * rng.standard_normal(n)
        duration = np.empty(n)
        state = np.empty(n, dtype=object)
        for c, (percent, states) in enumerate(zip(self.sizes["percent"], self.sizes["states"], strict=True)):
            mine = np.flatnonzero(size == c)
            mine = mine[draw.deal(rng, tenant[mine], score[mine])]
            even = (np.arange(len(mine)) + rng.uniform(0.25, 0.75, len(mine))) / len(mine)
            duration[mine] = draw.quantiles(even, self.knots, percent)
            state[mine] = draw.end_states(rng, len(mine), states, self.tilt)
        demand = self.sizes["demand"].to_numpy()[size]
        number = user - users.first[tenant] + 1
        jobs = pd.DataFrame(
            {"tenant": tenant, "user": number, "demand": demand, "duration": duration, "state": state}
        )
        order = draw.look_before_submitting(submit, tenant, demand, duration, self.quota)
        return jobs.iloc[order].assign(submit_time=submit)

    def _sessions(
        self, rng: np.random.Generator, users: draw.Users, submit: IntArray, active: FloatArray
    ) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return tenant, size, user and template of the jobs at the times `submit`.

        Sessions are placed on the axis of submissions (0 to n) instead of time, on which all tenants together have
        density 1; the k-th job on that axis then gets the k-th submission time.
        """
        n = len(submit)
        matrix = self._matrix(n)
        per_day = np.bincount(submit // int(DAY), minlength=len(active)).astype(np.float64)
        share = active * matrix.sum(axis=1)
        for _ in range(100):  # until each tenant has all its jobs, and each day all its submissions
            share *= (per_day / share.sum(axis=1))[:, None]
            share *= matrix.sum(axis=1) / share.sum(axis=0)
        day_start = np.concatenate([[0.0], np.cumsum(per_day)])
        per_hour = n / (24 * len(active))
        parts = []
        for t, c in np.argwhere(matrix > 0):
            length = draw.session_lengths(rng, int(matrix[t, c]))
            job = np.repeat(np.arange(len(length)), length)
            # the session begins on one of the tenant's active days ...
            u = np.cumsum(share[:, t]) / share[:, t].sum()
            begin = np.interp(rng.random(len(length)), np.concatenate([[0.0], u]), day_start)
            # ... and continues as a sweep, or as one run after another
            gap = np.where(rng.random(len(length)) < draw.SWEEP_SHARE, draw.SWEEP_GAP, draw.REPEAT_GAP)[job]
            late = np.cumsum(gap * rng.exponential(size=len(job)))
            first = np.cumsum(length) - length
            key = begin[job] + (late - late[first][job]) * per_hour
            user = users.pick(rng, t, c, len(length))[job]
            template = np.searchsorted(np.cumsum(TEMPLATE_SHARES)[:-1], rng.random(len(length)))[job]
            parts.append((np.full(len(job), t), np.full(len(job), c), user, template, key))
        tenant, size, user, template, key = (np.concatenate(p) for p in zip(*parts, strict=True))
        # the part after the end of the period wraps to its beginning, where other sessions end
        order = np.argsort(key % n, kind="stable")
        return tenant[order], size[order], user[order], template[order]

    def _matrix(self, n: int) -> IntArray:
        """Jobs of each tenant with each gang size, shape (tenants, sizes), `n` in all."""
        demand, share = self.sizes["demand"].to_numpy(), self.sizes["share"].to_numpy()
        middle = (np.arange(10_000) + 0.5) / 10_000
        mean = np.array([draw.quantiles(middle, self.knots, percent).mean() for percent in self.sizes["percent"]])
        load = self.tenants["load"].to_numpy() * self.tenants["weight"].to_numpy()
        counts = apportion(share / share.sum() * n, n)
        taste = share * demand[None, :] ** self.tenants["taste"].to_numpy()[:, None]
        fits = demand[None, :] <= LARGEST_GANG * self.quota[:, None]
        return draw.demand_matrix(counts, demand * mean, load, taste, fits)


def synthesize(name: str, seed: int = 0) -> Trace:
    """Make a synthetic trace of [Ye2022] §6.1.2: two weeks of jobs, and six weeks of history before them.

    ``venus`` has 11,304 jobs of 16 tenants, ``philly`` 44,329 of 15. The `seed` determines the trace completely.
    `InputError` if there is no such workload, or the seed is not a whole number of at least 0.
    """
    recipe = Recipe.load(name)
    return recipe.generate(whole_number(seed, f"synthetic trace {name}: the seed"))
