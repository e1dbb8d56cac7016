"""Drawn workloads of explorations: what they look like, and what depends on what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from astraea.core.errors import InputError
from papers.themis.apps import App, course
from papers.themis.workload import sample_workload

MANY = sample_workload(400, seed=1)
"""Enough apps for statistics."""


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
    """Mostly from 20 to 100 epochs, far apart within an app; 1 % of noise.

    Second differences late in training are noise, with weights 1, -2, 1.
    """
    length = np.array([len(loss) for app in MANY.apps for loss in app.loss])
    assert np.mean((length >= 20) & (length <= 100)) > 0.9
    large = [app.loss for app in MANY.apps if len(app.loss) >= 8]
    assert np.median([max(map(len, loss)) / min(map(len, loss)) for loss in large]) > 2
    late = [loss[-12:] for app in MANY.apps for loss in app.loss if len(loss) > 60]
    rough = np.concatenate([np.diff(loss, 2) / loss.mean() for loss in late])
    assert rough.std() / np.sqrt(6) == pytest.approx(0.01, rel=0.05)


def test_arrivals_are_a_poisson_process() -> None:
    """The first at 0; gaps have a standard deviation like their mean, and a part of 1 - 1/e is below it."""
    arrival = np.array([app.arrival for app in MANY.apps])
    gaps = np.diff(arrival)
    assert arrival[0] == 0 and (gaps >= 0).all()
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.2)
    assert np.mean(gaps < gaps.mean()) == pytest.approx(1 - np.exp(-1), abs=0.07)


@pytest.mark.parametrize("machines", [None, np.array([4, 4, 2])])
@pytest.mark.parametrize("apps, contention", [(2, 0.25), (30, 3.5)])
def test_contention_holds_exactly(apps: int, contention: float, machines: Any) -> None:
    """GPU-time of all rungs over GPUs and the time from the first to the last arrival."""
    workload = sample_workload(apps, contention, seed=2, machines=machines)
    needed = sum(app.gang * sum(phase.work for phase in course(app)) for app in workload.apps)
    available = workload.gpus * (workload.apps[-1].arrival - workload.apps[0].arrival)
    assert needed / available == pytest.approx(contention, rel=1e-12)


def test_what_an_app_depends_on() -> None:
    """On the seed and its number: not on the contention, nor on how many there are, and arrivals keep their rhythm."""
    calm, busy, more, other = (
        sample_workload(apps, contention, seed)
        for apps, contention, seed in ((20, 0.5, 3), (20, 2.0, 3), (40, 2.0, 3), (20, 0.5, 4))
    )
    apps = [*map(parts, calm.apps)]
    assert apps == [*map(parts, busy.apps)] == [*map(parts, more.apps[:20])]
    assert [app.arrival for app in calm.apps] == pytest.approx([4 * app.arrival for app in busy.apps])
    assert not any(a[3:] == b[3:] for a, b in zip(apps, map(parts, other.apps), strict=True))
    assert [app.arrival for app in sample_workload(1, 10.0, seed=6).apps] == [0.0], "there is no span of time to scale"


@pytest.mark.parametrize(
    "bad, said",
    [
        ({"apps": 0}, "the number of apps must be a whole number of at least 1, got 0"),
        ({"contention": 0}, "the contention must be a number above 0, got 0"),
        ({"seed": -1}, "the seed must be a whole number of at least 0, got -1"),
        ({"machines": np.array([1])}, "app 'app-0': gang must be from 1 to the 1 GPUs of the largest machine, got 2"),
    ],
)
def test_bad_input_is_refused(bad: dict[str, Any], said: str) -> None:
    """The sentence names what is wrong, the value, and what is expected."""
    with pytest.raises(InputError) as err:
        sample_workload(**{"apps": 2, **bad})
    assert str(err.value) == said
