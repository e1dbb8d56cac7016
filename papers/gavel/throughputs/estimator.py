"""Throughputs of pairs that were never measured, from a few measurements ([Narayanan2020] §3.3, §6, Figure 7).

Reference jobs have been measured beside each other on every accelerator type. A new job is run beside a fraction of
them, and matrix completion fills in the rest of its row. The completed row is its fingerprint, and the reference job
with the nearest fingerprint represents it in all pairs. All of it on normalized throughputs, the part of its speed
alone that a job keeps when it shares, so that jobs of different speeds compare.

Departures: the number of measurements is a fraction of all possible ones, rounded up, not a chance for each. The
nearest fingerprint is that of least Euclidean distance: the angle, which the released code takes, is the same for a
job that keeps 90 % of its speed everywhere and one that keeps 50 %. A pair of two new jobs is estimated by the pair of
their reference jobs, since nothing else has been measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.checks import number, one_of
from astraea.core.errors import InputError
from papers.gavel.throughputs.table import Throughputs

RANK = 10
"""Rank of the matrix of normalized throughputs."""

NOISE = 0.02
"""Standard deviation of a normalized throughput that is measured."""


class Estimator:
    """Estimated throughputs of pairs of jobs on one GPU; alone, jobs are measured as they run (§3.3).

    A new job is measured beside the `references`, job types measured beforehand, all by default. A `fraction` of these
    measurements is made, above 0 and at most 1; `seed` and the job type decide which. `InputError` if the fraction is
    not in this range, a reference is unknown or named twice, or pairs of them were never measured.
    """

    def __init__(
        self, measured: Throughputs, references: Sequence[str] | None = None, *, fraction: float, seed: int = 0
    ) -> None:
        number(fraction, "estimator: fraction", above=0, most=1, expected="above 0 and at most 1")
        self.measured = measured
        self.fraction = fraction
        self.seed = seed
        self.job_types = tuple(t for t, size in measured.configurations if size == 1)
        self.references = self.job_types if references is None else tuple(references)
        known = self._kinds(self.references)
        if len(set(self.references)) < max(len(self.references), 1):
            named = ", ".join(self.references) or "none"
            raise InputError(f"estimator: references must be different job types, at least one, got {named}")
        if not measured.measured[0][np.ix_(known, known)].any():
            raise InputError(
                f"estimator: {measured.name} must have measurements of pairs of the {len(known)} references, got none"
            )
        self.table = self._kept(self.references, self.references)

    def profile(self, job_type: str) -> FloatArray:
        """Part of its speed that a job is measured to keep beside each reference on each type, NaN elsewhere, (R J,).

        `InputError` if the job type is unknown, or was never measured beside some reference job.
        """
        row = self._kept([job_type], self.references).ravel()
        random = np.random.default_rng([self.seed, self.job_types.index(job_type)])
        profiled = np.zeros(row.size, np.bool_)
        profiled[random.choice(row.size, math.ceil(self.fraction * row.size - 1e-9), replace=False)] = True
        return np.where(profiled, row, np.nan)

    def match(self, job_type: str) -> str:
        """Return the reference job with the fingerprint nearest to that of a job measured as if it were new."""
        rows = self.table.reshape(len(self.references), -1)
        distance = np.sqrt(((rows - complete(rows, self.profile(job_type))) ** 2).mean(axis=1))
        return self.references[int(distance.argmin())]

    def kept(self) -> FloatArray:
        """Estimated part of its speed that each job type (rows) keeps beside each other (columns), shape (K, K, J)."""
        stands_for = [self.references.index(self.match(t)) for t in self.job_types]
        return self.table[np.ix_(stands_for, stands_for)]

    def throughputs(self) -> Throughputs:
        """The measured throughputs alone, and the estimated ones of pairs; pairs of gangs cannot share."""
        one = self._kinds(self.job_types)
        speed = self.measured.solo[0, one]
        kept = self.kept()
        shared = np.zeros_like(self.measured.shared)
        for side in range(len(shared)):
            shared[side][np.ix_(one, one)] = np.stack(
                [kept * speed[:, None], kept.transpose(1, 0, 2) * speed[None, :]], axis=2
            )
        name = f"{self.measured.name}, pairs estimated from {self.fraction:.0%} of the measurements"
        return replace(self.measured, name=name, shared=shared, measured=np.ones_like(self.measured.measured))

    def errors(self) -> pd.Series[float]:
        """Mean absolute error of estimated normalized throughputs over all pairs, by job type."""
        error = np.abs(self.kept() - self._kept(self.job_types, self.job_types)).mean(axis=(1, 2))
        return pd.Series(error, self.job_types)

    def _kinds(self, job_types: Sequence[str]) -> IntArray:
        """Numbers of job types on one GPU."""
        known = self.job_types
        return np.array([self.measured.kind(one_of(t, known, "estimator: job type"), 1) for t in job_types], np.int64)

    def _kept(self, first: Sequence[str], second: Sequence[str]) -> FloatArray:
        """Measured part of its speed that each of the first keeps beside each of the second, shape (F, S, J)."""
        a, b = (k.ravel() for k in np.meshgrid(self._kinds(first), self._kinds(second), indexing="ij"))
        shared, alone = self.measured.pairs(a, b)[:, 0], self.measured.solo[0, a]
        kept = np.divide(shared, alone, out=np.zeros_like(shared), where=alone > 0)
        return np.asarray(kept.reshape(len(first), len(second), -1))


def complete(rows: FloatArray, row: FloatArray) -> FloatArray:
    """Fill in the unknown entries of a row of a matrix of low rank.

    This is one step of alternating least squares with regularization. The other rows are known, so their `RANK`
    strongest principal components are the factors of the columns. What remains is a ridge regression of the known
    entries on them. A weight is as uncertain as it varies among the known rows, an entry as `NOISE`.

    `rows` are known, (R, c); `row` is NaN where unknown, (c,). Its unknown entries become numbers between 0 and 1, the
    known ones stay as they were.
    """
    known = ~np.isnan(row)
    mean = rows.mean(axis=0)
    _, size, direction = np.linalg.svd(rows - mean, full_matrices=False)
    factors = (size[:RANK, None] / math.sqrt(len(rows))) * direction[:RANK]
    seen = factors[:, known]
    weights = np.linalg.solve(seen @ seen.T + NOISE**2 * np.eye(len(factors)), seen @ (row - mean)[known])
    return np.where(known, row, np.clip(mean + weights @ factors, 0.0, 1.0))
