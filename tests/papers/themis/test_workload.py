"""Apps, workloads that can be simulated and drawn ones, successive halving, and how well a loss curve is foreseen."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from papers.themis.apps import App, AppTrace, Phase, Tuner, course
from papers.themis.loss_curves import estimated_length, learning_curve
from papers.themis.workload import sample_workload

LOSSES = (np.array([3.0, 2.0, 1.5]), np.array([4.0, 1.0]))
GOOD = App("a", 5.0, "vgg16", 2, 60.0, LOSSES)
MANY = sample_workload(400, seed=1)
"""Enough apps for statistics."""


def app(*losses: list[float], **changes: Any) -> App:
    return replace(GOOD, loss=tuple(np.array(one) for one in losses), **changes)


def second(**changes: Any) -> list[App]:
    """Two apps, of which the second is another one."""
    return [GOOD, replace(GOOD, name="b", **changes)]


TUNER = "a tuner needs first >= 1, eta >= 2, longest >= first and tolerance > 0, got Tuner"


@pytest.mark.parametrize(
    "apps, machines, said",
    [
        ([], [8, 2], "small: a workload needs at least one app"),
        ([GOOD, GOOD], [8, 2], "small: two apps have the same name"),
        (second(arrival=4.0), [8], "app 'b': apps must come in order of arrival, got 4 s"),
        (second(gang=3), [8], "small: every gang must divide the next larger one, got 2 and 3"),
        ([GOOD], [4, 0], "small: every machine needs at least one GPU, got [4, 0]"),
        ([GOOD], [4.0, 2.5], "small: machines must be whole numbers of GPUs, got [4.0, 2.5]"),
        (second(loss=()), [8], "app 'b': it needs at least one job, got none"),
        (second(loss=(LOSSES[0], np.ones(0))), [8], "app 'b', job 1: it must have from 1 to 120 epochs, got 0"),
        (second(loss=(np.array([2.0, np.nan]),)), [8], "app 'b', job 0, epoch 2: the loss must be finite, got nan"),
        (second(model="gpt"), [8], "app 'b': model must be one of vgg16, resnet50, inception-v3, got 'gpt'"),
        (second(arrival=-1.0), [8], "app 'b': arrival must be a time from 0 [s], got -1.0"),
        (second(gang=9), [8], "app 'b': gang must be from 1 to the 8 GPUs of the largest machine, got 9"),
        (second(tuner=Tuner(first=0)), [8], f"app 'b': {TUNER}(first=0, eta=2, tolerance=0.0005, longest=120)"),
        (second(tuner=Tuner(eta=1)), [8], f"app 'b': {TUNER}(first=4, eta=1, tolerance=0.0005, longest=120)"),
        (second(tuner=Tuner(tolerance=0.0)), [8], f"app 'b': {TUNER}(first=4, eta=2, tolerance=0.0, longest=120)"),
        (second(tuner=Tuner(longest=3)), [8], f"app 'b': {TUNER}(first=4, eta=2, tolerance=0.0005, longest=3)"),
        (second(tuner=Tuner(2, longest=2)), [8], "app 'b', job 0: it must have from 1 to 2 epochs, got 3"),
    ],
)
def test_no_workload(apps: list[App], machines: list[Any], said: str) -> None:
    """One number out of range: the sentence names the app, the job from 0, the epoch from 1, and the value."""
    with pytest.raises(InputError) as err:
        AppTrace("small", tuple(apps), np.array(machines))
    assert str(err.value) == said


def test_limits_that_are_allowed() -> None:
    """A gang as large as the largest machine, one cut after the only epoch, jobs as long as the tuner allows."""
    largest = replace(GOOD, gang=8, arrival=0.0, tuner=Tuner(first=1, eta=2, tolerance=1e-9, longest=3))
    trace = AppTrace("small", (largest, replace(largest, name="b")), np.array([1, 8]))
    assert (trace.gpus, [app.gang for app in trace.apps]) == (9, [8, 8])
    assert course(replace(largest, tuner=Tuner(3, longest=3)))[0] == Phase(2, 5 * 60.0)
    for thing, field in ((largest, "gang"), (trace, "machines")):
        with pytest.raises(FrozenInstanceError):
            setattr(thing, field, 1)


def test_course_by_hand() -> None:
    """Four jobs of 1, 7, 3 and 5 epochs of 10 s in rungs that end after 2 and 4 epochs.

    The first rung is 1 + 2 + 2 + 2 epochs. Jobs 0 and 1 continue; job 0 has converged, so the second rung is the 2
    epochs of job 1, whose other 3 are the last rung. A rung of jobs that have all converged exists and needs no work.
    """
    losses = [0.5], [0.7, 0.4, 0.35, 0.3, 0.3, 0.3, 0.3], [1.0, 0.9, 0.1], [0.9, 0.8, 0.2, 0.2, 0.2]
    four = app(*losses, epoch=10.0, tuner=Tuner(first=2, longest=10))
    assert course(four) == [Phase(4, 70.0), Phase(2, 20.0), Phase(1, 30.0)]
    assert course(app([1.0, 0.5], [2.0], epoch=10.0)) == [Phase(2, 30.0), Phase(1, 0.0)]


def halving_epoch_by_epoch(losses: list[list[float]], tuner: Tuner) -> list[Phase]:
    """Every rung with epochs of 1 s, by nothing but loops."""
    trained = [0] * len(losses)
    jobs, goal, out = list(range(len(losses))), tuner.first, []
    while True:
        is_last, epochs = len(jobs) == 1, 0
        for j in jobs:
            while trained[j] < len(losses[j]) and (is_last or trained[j] < min(goal, tuner.longest)):
                trained[j] += 1
                epochs += 1
        out.append(Phase(len(jobs), float(epochs)))
        if is_last:
            return out
        kept: list[int] = []
        while len(kept) * tuner.eta < len(jobs):
            kept.append(min((j for j in jobs if j not in kept), key=lambda j: (losses[j][trained[j] - 1], j)))
        jobs, goal = kept, goal * tuner.eta


@given(
    losses=st.lists(st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0]), min_size=1, max_size=12), min_size=1, max_size=20),
    first=st.integers(1, 5),
    eta=st.integers(2, 4),
)
def test_course_is_what_training_epoch_by_epoch_gives(losses: list[list[float]], first: int, eta: int) -> None:
    """Jobs and work of every rung, against a twin that trains one epoch after the other; many losses are equal."""
    tuner = Tuner(first=first, eta=eta, longest=12)
    assert course(app(*losses, epoch=1.0, tuner=tuner)) == halving_epoch_by_epoch(losses, tuner)


def parts(app: App) -> list[Any]:
    """All but the arrival."""
    return [app.name, app.model, app.gang, app.epoch, app.tuner, [loss.tolist() for loss in app.loss]]


def test_machines() -> None:
    """256 GPUs, a quarter of them on machines too small for a gang of 4; the apps are the same on any machines."""
    assert MANY.gpus == 256
    assert np.array_equal(np.unique(MANY.machines, return_counts=True), [[2, 4], [32, 48]])
    small = sample_workload(4, machines=np.array([2, 8, 4]))
    assert small.machines.tolist() == [2, 8, 4]
    assert [*map(parts, small.apps)] == [*map(parts, sample_workload(4).apps)]
    with pytest.raises(InputError, match="gang must be from 1 to the 1 GPUs of the largest machine, got 2"):
        sample_workload(2, machines=np.array([1]))


def test_apps() -> None:
    """Log-normal jobs and epochs, gangs and models as often as they should be; no two apps share a random stream."""
    jobs = np.array([len(app.loss) for app in MANY.apps])
    epoch = np.array([app.epoch for app in MANY.apps])
    for numbers, median, off, least, most in ((jobs, 16, 2, 1, 64), (epoch, 180, 20, 20, 1800)):
        assert abs(np.median(numbers) - median) <= off
        assert 0.5 < np.log(numbers).std() < 0.7
        assert least <= numbers.min() and numbers.max() <= most
    assert {app.gang for app in MANY.apps} == {2, 4}
    assert np.mean([app.gang == 4 for app in MANY.apps]) == pytest.approx(0.7, abs=0.08)
    for model, share in {"vgg16": 0.4, "resnet50": 0.2, "inception-v3": 0.4}.items():
        assert np.mean([app.model == model for app in MANY.apps]) == pytest.approx(share, abs=0.08), model
    assert len({*epoch}) == len({float(app.loss[0][0]) for app in MANY.apps}) == 400


def test_losses_of_jobs() -> None:
    """Lengths are mostly 20 to 100 epochs, far apart within an app, with 1 % of noise.

    Second differences late in training are noise, with weights 1, -2, 1.
    """
    length = np.array([len(loss) for app in MANY.apps for loss in app.loss])
    assert np.mean((length >= 20) & (length <= 100)) > 0.9
    large = [app.loss for app in MANY.apps if len(app.loss) >= 8]
    assert np.median([max(map(len, loss)) / min(map(len, loss)) for loss in large]) > 2
    late = [loss[-12:] for app in MANY.apps for loss in app.loss if len(loss) > 60]
    rough = np.concatenate([np.diff(loss, 2) / loss.mean() for loss in late])
    assert rough.std() / np.sqrt(6) == pytest.approx(0.01, rel=0.05)


def test_arrivals() -> None:
    """A Poisson process, the first at 0; gaps have a deviation like their mean, and 1 - 1/e of them are below it.

    The contention holds exactly: GPU-time of all rungs over GPUs and the time from the first to the last arrival.
    """
    arrival = np.array([app.arrival for app in MANY.apps])
    gaps = np.diff(arrival)
    assert arrival[0] == 0 and (gaps >= 0).all()
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.2)
    assert np.mean(gaps < gaps.mean()) == pytest.approx(1 - np.exp(-1), abs=0.07)
    for apps, contention, machines in ((2, 0.25, None), (30, 3.5, np.array([4, 4, 2]))):
        workload = sample_workload(apps, contention, seed=2, machines=machines)
        needed = sum(app.gang * sum(phase.work for phase in course(app)) for app in workload.apps)
        available = workload.gpus * (workload.apps[-1].arrival - workload.apps[0].arrival)
        assert needed / available == pytest.approx(contention, rel=1e-12)
    with pytest.raises(InputError, match="the contention must be a number above 0, got 0"):
        sample_workload(2, 0)


def test_what_an_app_depends_on() -> None:
    """An app depends on seed and number only, not on contention or the number of apps; arrivals keep their rhythm."""
    calm, busy, more, other = (
        sample_workload(apps, contention, seed)
        for apps, contention, seed in ((20, 0.5, 3), (20, 2.0, 3), (40, 2.0, 3), (20, 0.5, 4))
    )
    apps = [*map(parts, calm.apps)]
    assert apps == [*map(parts, busy.apps)] == [*map(parts, more.apps[:20])]
    assert [app.arrival for app in calm.apps] == pytest.approx([4 * app.arrival for app in busy.apps])
    assert not any(a[3:] == b[3:] for a, b in zip(apps, map(parts, other.apps), strict=True))
    assert [app.arrival for app in sample_workload(1, 10.0, seed=6).apps] == [0.0], "there is no span of time to scale"


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_curve_by_hand() -> None:
    """1 + 6 / k falls by 6 / (k (k + 1)): 3, 1, 0.5, 0.3 and 0.2, the first below 0.25; or it is cut at the longest."""
    curve = learning_curve(1.0, 6.0, 1.0, 0.0, Tuner(tolerance=0.25), rng())
    assert curve == pytest.approx([7.0, 4.0, 3.0, 2.5, 2.2])
    assert len(learning_curve(1.0, 6.0, 1.0, 0.0, Tuner(tolerance=0.25, longest=4), rng())) == 4
    assert len(learning_curve(1.0, 0.0, 1.0, 0.0, Tuner(), rng())) == 1


def test_noise_is_a_part_of_the_loss() -> None:
    """Observed over true loss has mean 1 and the given standard deviation, early and late; all losses are above 0."""
    tuner = Tuner(tolerance=1e-9)
    true = learning_curve(0.5, 4.0, 1.0, 0.0, tuner, rng())
    ratio = np.array([learning_curve(0.5, 4.0, 1.0, 0.02, tuner, rng(seed)) for seed in range(300)]) / true
    for part in (ratio[:, :20], ratio[:, -20:]):
        assert part.mean() == pytest.approx(1.0, abs=0.001)
        assert part.std() == pytest.approx(0.02, rel=0.05)
    curve = learning_curve(0.5, 1.0, 1.0, 2.0, Tuner(), rng(3))  # twice the loss would make every third one negative
    assert len(curve) == 45 and (curve > 0).all()  # 1 / (44 * 45) = 0.000505, 1 / (45 * 46) = 0.000483


@given(
    losses=st.lists(st.floats(0.001, 100.0), min_size=1, max_size=60).map(np.array),
    longest=st.integers(60, 150),
    factor=st.floats(1.0, 100.0),
)
def test_estimates_of_any_losses(losses: FloatArray, longest: int, factor: float) -> None:
    """From m + 1 on while there is another epoch, at most `longest`, whatever the losses look like; a whole number.

    A larger tolerance is met no later. Twice the losses and twice the tolerance are the same in other units.
    """
    tuner = Tuner(longest=longest)
    estimate = estimated_length(losses, tuner)
    assert min(len(losses) + 1, longest) <= estimate <= longest
    assert estimate == round(estimate)
    assert estimated_length(losses, tuner._replace(tolerance=factor * tuner.tolerance)) <= estimate
    assert estimated_length(2 * losses, tuner._replace(tolerance=2 * tuner.tolerance)) == estimate


def test_losses_that_do_not_fall_tell_nothing() -> None:
    """With too few, equal or rising losses the job may run to its end."""
    for losses in ([], [3.0, 2.999], [0.1] * 3, [0.3] * 12, [*np.linspace(0.3, 0.7, 50)], [1.0, 1.0, 5.0, 5.0]):
        assert estimated_length(np.array(losses), Tuner(longest=77)) == 77.0, losses


def plain_estimate(losses: FloatArray, tuner: Tuner) -> float:
    """Do what the docstring says: each power of one fine grid, a library's least squares, one epoch after the other."""
    epochs = np.arange(1.0, len(losses) + 1)
    best = (float(((losses - losses.mean()) ** 2).sum()), 0.0, 1.0)
    for power in np.arange(0.05, 3.0005, 0.002):
        line = np.column_stack([np.ones(len(losses)), epochs**-power])
        (_, span), squares, *_ = np.linalg.lstsq(line, losses)
        if span > 0:
            best = min(best, (float(squares[0]), float(span), float(power)))
    _, span, power = best
    if span == 0:
        return float(tuner.longest)
    length = 1
    while length < tuner.longest and span * (length**-power - (length + 1) ** -power) >= tuner.tolerance:
        length += 1
    return float(max(length, len(losses) + 1))


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.4])
def test_the_fit_is_the_best_one(noise: float) -> None:
    """Compare the fit with a plain twin, up to the steps of its grid; much noise gives several local optima.

    Without noise it is the true length.
    """
    random = rng(4)
    for seen in (7, 4, 15, 7, 4, 15):
        floor, span, power = (random.uniform(*one) for one in ((0.2, 1.0), (0.5, 2.0), (0.6, 1.4)))
        curve = learning_curve(floor, span, power, noise, Tuner(), random)
        estimate = estimated_length(curve[:seen], Tuner())
        assert estimate == pytest.approx(plain_estimate(curve[:seen], Tuner()), abs=1)
        assert noise or estimate == pytest.approx(len(curve), abs=1)
