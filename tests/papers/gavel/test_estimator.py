"""Throughput estimator of Gavel ([Narayanan2020] §3.3, §6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gavel_small import pair

from astraea.core.errors import InputError
from papers.gavel.throughputs.estimator import Estimator, complete
from papers.gavel.throughputs.table import Throughputs


@pytest.fixture(scope="module")
def compact():
    return Throughputs.compact()


@pytest.fixture(scope="module")
def real(shared):
    return Throughputs.read(shared / "data" / "gavel" / "simulation_throughputs.json")


def single(table):
    return np.array([k for k, (_, size) in enumerate(table.configurations) if size == 1])


def test_completion_recovers_a_row_of_low_rank():
    random = np.random.default_rng(0)
    columns = random.uniform(0, 1, (3, 40))
    rows = random.dirichlet(np.ones(3), 20) @ columns
    row = np.array([0.5, 0.3, 0.2]) @ columns
    known = random.choice(40, 12, replace=False)
    partial = np.full(40, np.nan)
    partial[known] = row[known]
    completed = complete(rows, partial)
    np.testing.assert_array_equal(completed[known], row[known])
    assert np.abs(completed - row).max() < 0.03
    # far better than the mean of the rows
    assert np.abs(completed - row).mean() < np.abs(rows.mean(axis=0) - row).mean() / 5


def test_completion_stays_between_0_and_1():
    random = np.random.default_rng(1)
    partial = np.where(random.random(30) < 0.2, random.integers(0, 2, 30).astype(float), np.nan)
    completed = complete(random.integers(0, 2, (5, 30)).astype(float), partial)
    assert ((completed >= 0) & (completed <= 1)).all()


def test_everything_profiled_is_everything_known(compact):
    estimator = Estimator(compact, fraction=1)
    estimated = estimator.throughputs()
    one = np.ix_(single(compact), single(compact))
    np.testing.assert_allclose(estimated.shared[0][one], compact.shared[0][one], rtol=1e-12)
    np.testing.assert_array_equal(estimated.solo, compact.solo)
    accuracy = estimator.accuracy()
    assert (accuracy["distance"] == 0).all()
    assert (accuracy["error"] == 0).all()


def test_what_is_profiled(compact):
    t = Estimator(compact, fraction=1).job_types
    estimator = Estimator(compact, t[:10], fraction=0.25, seed=3)
    match = estimator.match(t[20])
    assert match.is_measured.shape == (10, 3)
    assert match.is_measured.sum() == 8  # 7.5, rounded up
    # measured entries are those of the new job beside the reference jobs, each in its own column
    for r, j in np.argwhere(match.is_measured):
        name = compact.types[j]
        expected = pair(compact, (t[20], 1), (t[r], 1))[0, j] / compact.alone(t[20], 1)[j]
        assert match.fingerprint[r, j] == pytest.approx(expected), f"beside {t[r]} on {name}"
    assert match.reference in t[:10]


def test_pairs_agree_with_each_other(compact):
    t = Estimator(compact, fraction=1).job_types
    estimated = Estimator(compact, t[::2], fraction=0.1).throughputs()
    ab, ba = pair(estimated, (t[1], 1), (t[8], 1)), pair(estimated, (t[8], 1), (t[1], 1))
    np.testing.assert_array_equal(ab, ba[::-1])
    assert (pair(estimated, (t[1], 1), (t[8], 1))[0] <= estimated.alone(t[1], 1)).all()


def test_same_seed_same_estimates_whatever_is_asked_first(compact):
    one, two = (Estimator(compact, fraction=0.1, seed=5) for _ in range(2))
    for t in reversed(one.job_types):
        one.match(t)
    np.testing.assert_array_equal(one.kept(), two.kept())
    other = Estimator(compact, fraction=0.1, seed=6)
    assert any((one.match(t).is_measured != other.match(t).is_measured).any() for t in one.job_types)


@pytest.mark.parametrize(("fraction", "bound"), [(0.1, 0.06), (0.2, 0.02), (0.5, 0.005)])
def test_error_where_every_job_type_is_a_reference(real, fraction, bound):
    errors = [Estimator(real, fraction=fraction, seed=s).accuracy()["error"].mean() for s in range(3)]
    assert np.mean(errors) < bound  # a reference taken at random is wrong by 0.17 on average


def test_error_for_job_types_that_were_never_seen(real):
    t = Estimator(real, fraction=1).job_types
    error = {}
    for fraction in (0.02, 0.2, 1):
        accuracy = [Estimator(real, t[s::2], fraction=fraction, seed=s).accuracy() for s in range(2)]
        error[fraction] = np.mean([a.loc[~a["is_reference"], "error"].mean() for a in accuracy])
    assert error[1] <= error[0.2] < error[0.02]
    assert error[0.2] < 0.15


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        *(({"fraction": f}, "fraction must be above 0 and at most 1, got ") for f in (0, -0.1, 1.5, float("nan"))),
        ({"references": ["AlexNet"]}, r"job type must be one of .*CycleGAN.*, got 'AlexNet'$"),
        ({"references": []}, "references must be different job types, at least one, got "),
        ({"references": ["A3C", "A3C"]}, "references must be different job types, at least one, got "),
    ],
)
def test_bad_arguments_get_a_sentence(compact, arguments, says):
    with pytest.raises(InputError, match=f"^estimator: {says}"):
        Estimator(compact, **{"fraction": 0.5} | arguments)


def test_an_unknown_job_type(compact):
    with pytest.raises(InputError, match=r"^estimator: job type must be one of .*, got 'AlexNet'$"):
        Estimator(compact, fraction=0.5).match("AlexNet")


def test_pairs_without_measurements(compact):
    measured = np.array(compact.measured)
    a, b = single(compact)[:2]
    measured[:, a, b] = measured[:, b, a] = False
    with pytest.raises(InputError, match="were never measured on the same GPUs"):
        Estimator(replace(compact, measured=measured), fraction=0.5)
    with pytest.raises(InputError, match=r"must have measurements of pairs of the 26 references, got none$"):
        Estimator(replace(compact, measured=np.zeros_like(measured)), fraction=0.5)
