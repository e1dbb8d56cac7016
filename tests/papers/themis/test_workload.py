"""Drawn workloads of explorations: what they look like, and what depends on what."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from astraea.core.errors import InputError
from papers.themis.apps import App, AppTrace, Tuner, course
from papers.themis.workload import sample_workload


@cache
def many() -> AppTrace:
    """Enough apps for statistics."""
    return sample_workload(400, seed=1)


def same_app(one: App, other: App) -> bool:
    """Whether all but the arrival is the same."""
    return (one.name, one.model, one.gang, one.epoch, one.tuner, len(one.loss)) == (
        other.name,
        other.model,
        other.gang,
        other.epoch,
        other.tuner,
        len(other.loss),
    ) and all(np.array_equal(a, b) for a, b in zip(one.loss, other.loss, strict=True))


def test_machines_of_two_sizes() -> None:
    """256 GPUs, a quarter of them on machines too small for a gang of 4."""
    machines = many().machines
    assert many().gpus == 256
    assert np.array_equal(np.unique(machines, return_counts=True), [[2, 4], [32, 48]])
    assert machines.dtype == np.int64


def test_given_machines_are_taken() -> None:
    """The apps are the same on any machines."""
    machines = np.array([2, 8, 4])
    small = sample_workload(4, machines=machines)
    assert small.machines.tolist() == [2, 8, 4]
    assert all(same_app(a, b) for a, b in zip(small.apps, sample_workload(4).apps, strict=True))


def test_jobs_of_an_app() -> None:
    """Log-normal, median 16 and sigma 0.6, from 1 to 64."""
    jobs = np.array([len(app.loss) for app in many().apps])
    assert 14 <= np.median(jobs) <= 18
    assert 0.5 < np.log(jobs).std() < 0.7
    assert jobs.min() >= 1 and jobs.max() == 64


def test_epoch_times() -> None:
    """Log-normal, median 180 s and sigma 0.6, from 20 to 1800 s."""
    epoch = np.array([app.epoch for app in many().apps])
    assert 160 < np.median(epoch) < 200
    assert 0.5 < np.log(epoch).std() < 0.7
    assert epoch.min() >= 20 and epoch.max() <= 1800


def test_gangs_and_models() -> None:
    """3 in 10 gangs are of 2 GPUs, the others of 4; a fifth of the apps trains ResNet50, the others halve the rest."""
    apps = many().apps
    assert {app.gang for app in apps} == {2, 4}
    assert np.mean([app.gang == 4 for app in apps]) == pytest.approx(0.7, abs=0.08)
    for model, share in {"vgg16": 0.4, "resnet50": 0.2, "inception-v3": 0.4}.items():
        assert np.mean([app.model == model for app in apps]) == pytest.approx(share, abs=0.08), model


def test_lengths_of_jobs() -> None:
    """Mostly from 20 to 100 epochs, and far apart within an app."""
    apps = many().apps
    length = np.array([len(loss) for app in apps for loss in app.loss])
    assert np.mean((length >= 20) & (length <= 100)) > 0.9
    assert np.mean(length == Tuner().longest) < 0.02
    assert 40 < np.median(length) < 60
    apart = [max(map(len, app.loss)) / min(map(len, app.loss)) for app in apps if len(app.loss) >= 8]
    assert np.median(apart) > 2


def test_jobs_of_an_app_differ_by_more_than_noise() -> None:
    """The last losses of an app's jobs are far apart, so that which job is best matters."""
    last = [np.array([loss[-1] for loss in app.loss]) for app in many().apps if len(app.loss) >= 8]
    assert np.median([one.std() / one.mean() for one in last]) > 0.2


def test_losses_have_one_percent_of_noise() -> None:
    """Second differences late in training are noise, with weights 1, -2, 1."""
    late = [loss[-12:] for app in many().apps for loss in app.loss if len(loss) > 60]
    rough = np.concatenate([np.diff(loss, 2) / loss.mean() for loss in late])
    assert rough.std() / np.sqrt(6) == pytest.approx(0.01, rel=0.05)


def test_arrivals_are_a_poisson_process() -> None:
    """The first at 0; gaps have a standard deviation like their mean, and a part of 1 - 1/e is below it."""
    arrival = np.array([app.arrival for app in many().apps])
    gaps = np.diff(arrival)
    assert arrival[0] == 0 and (gaps >= 0).all()
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.2)
    assert np.mean(gaps < gaps.mean()) == pytest.approx(1 - np.exp(-1), abs=0.07)
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 0.15


@pytest.mark.parametrize("machines", [None, np.array([4, 4, 2])])
@pytest.mark.parametrize("contention", [0.25, 1, 3.5])
@pytest.mark.parametrize("apps", [2, 30])
def test_contention_holds_exactly(apps: int, contention: float, machines: Any) -> None:
    """GPU-time of all rungs over GPUs and the time from the first to the last arrival."""
    workload = sample_workload(apps, contention, seed=2, machines=machines)
    needed = sum(app.gang * sum(phase.work for phase in course(app)) for app in workload.apps)
    available = workload.gpus * (workload.apps[-1].arrival - workload.apps[0].arrival)
    assert needed / available == pytest.approx(contention, rel=1e-12)


def test_contention_changes_nothing_but_the_arrivals() -> None:
    """The apps are the same, and arrive in the same rhythm."""
    calm, busy = sample_workload(20, 0.5, seed=3), sample_workload(20, 2.0, seed=3)
    assert all(same_app(a, b) for a, b in zip(calm.apps, busy.apps, strict=True))
    assert [app.arrival for app in calm.apps] == pytest.approx([4 * app.arrival for app in busy.apps])


def test_an_app_does_not_depend_on_how_many_there_are() -> None:
    """App i of 50 apps is app i of 100, and their gaps are in the same proportion."""
    few, more = sample_workload(50, seed=4), sample_workload(100, seed=4)
    assert all(same_app(a, b) for a, b in zip(few.apps, more.apps, strict=False))
    short, long = (np.diff([app.arrival for app in w.apps[:50]]) for w in (few, more))
    assert short / short.sum() == pytest.approx(long / long.sum())


def test_a_workload_depends_on_the_seed() -> None:
    """The same seed gives the same workload, another gives other apps and arrivals."""
    one, again, other = sample_workload(10, seed=5), sample_workload(10, seed=5), sample_workload(10, seed=6)
    assert all(same_app(a, b) and a.arrival == b.arrival for a, b in zip(one.apps, again.apps, strict=True))
    assert not any(same_app(a, b) for a, b in zip(one.apps, other.apps, strict=True))
    assert not any(a.arrival == b.arrival for a, b in zip(one.apps[1:], other.apps[1:], strict=True))


def test_apps_of_a_workload_differ() -> None:
    """No two apps share a random stream."""
    assert len({app.epoch for app in many().apps}) == 400
    assert len({float(app.loss[0][0]) for app in many().apps}) == 400


def test_one_app_arrives_at_0() -> None:
    """There is no span of time to scale."""
    for contention in (0.1, 10.0):
        workload = sample_workload(1, contention, seed=6)
        assert [app.arrival for app in workload.apps] == [0.0]


def test_names() -> None:
    """The name tells what was asked for; apps are numbered."""
    assert sample_workload().name == "apps-100-contention-1-seed-0"
    workload = sample_workload(3, 2.5, 7)
    assert workload.name == "apps-3-contention-2.5-seed-7"
    assert [app.name for app in workload.apps] == ["app-0", "app-1", "app-2"]


@pytest.mark.parametrize(
    "bad, said",
    [
        ({"apps": 0}, "the number of apps must be a whole number of at least 1, got 0"),
        ({"apps": 2.0}, "the number of apps must be a whole number of at least 1, got 2.0"),
        ({"apps": True}, "the number of apps must be a whole number of at least 1, got True"),
        ({"contention": 0}, "the contention must be a number above 0, got 0"),
        ({"contention": -1.5}, "the contention must be a number above 0, got -1.5"),
        ({"contention": np.inf}, "the contention must be a number above 0, got inf"),
        ({"contention": np.nan}, "the contention must be a number above 0, got nan"),
        ({"contention": True}, "the contention must be a number above 0, got True"),
        ({"contention": "1"}, "the contention must be a number above 0, got '1'"),
        ({"seed": -1}, "the seed must be a whole number of at least 0, got -1"),
        ({"seed": 0.5}, "the seed must be a whole number of at least 0, got 0.5"),
        ({"seed": False}, "the seed must be a whole number of at least 0, got False"),
    ],
)
def test_bad_numbers_are_refused(bad: dict[str, Any], said: str) -> None:
    """The sentence names what is wrong, the value, and what is expected."""
    with pytest.raises(InputError) as err:
        sample_workload(**{"apps": 2, **bad})
    assert str(err.value) == said


@pytest.mark.parametrize(
    "machines, said",
    [
        ([2, 2, 1], "gang must be from 1 to the 2 GPUs of the largest machine, got 4"),
        ([], "every machine needs at least one GPU, got []"),
        ([4, 0], "every machine needs at least one GPU, got [4, 0]"),
    ],
)
def test_machines_that_hold_no_gang_are_refused(machines: list[int], said: str) -> None:
    """What is wrong with the machines is said before anything is divided by their GPUs."""
    with pytest.raises(InputError) as err:
        sample_workload(10, machines=np.array(machines, np.int64))
    assert str(err.value).endswith(said)
