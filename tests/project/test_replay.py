"""The replay of a day: its frames are the simulator's, and both browsers show and move them without an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from browsers import browsing
from places import ROOT
from processes import wait_until

from astraea.core.metrics import hourly
from astraea.core.units import DAY, HOUR
from papers.ye2022 import replay

PAGE: Final = ROOT / "docs" / "site" / "replay" / "index.html"
TEXT: Final = (ROOT / replay.FRAMES_FILE).read_text(encoding="utf-8")
SHOWN: Final[dict[str, Any]] = json.loads(TEXT[TEXT.index("{") : TEXT.rindex(";")])


def shares(run: str) -> pd.DataFrame:
    """Shares of tenants [%], a row per frame, as the page has them."""
    return pd.DataFrame(SHOWN["runs"][run]["share"], index=SHOWN["tenants"]).T


def test_what_the_page_tells_to_try_is_so() -> None:
    assert shares("gandiva-fair/15").min().min() >= 99
    assert (shares("astraea/15")["vc12"] < 95).all()


def test_frames_are_those_of_the_simulator() -> None:
    trace, cluster = replay.workload()
    scheduler = next(made for name, term, made in replay.sides() if (name, term) == ("astraea", 15))
    result = replay.simulated(trace, cluster, scheduler)
    followed = replay.jobs_to_follow(trace)
    assert SHOWN["runs"]["astraea/15"] == replay.frames(trace, cluster, result, followed)
    assert [job["id"] for job in SHOWN["jobs"]] == list(trace.job_id[followed])

    every_hour = hourly(result)
    waited = every_hour.groupby(every_hour["time"] // DAY)["waiting"].sum()
    assert waited.idxmax() == replay.DAY_SHOWN
    slow = hourly(replay.stretched(trace, cluster, result, 2.0))
    for column, times in (("attained_service", 2.0), ("fair_service", 2.0), ("held", 1.0), ("waiting", 1.0)):
        exact = every_hour[column].to_numpy()
        found = slow.loc[slow["time"] % (2 * HOUR) == 0, column].to_numpy()[: len(exact)] / times
        np.testing.assert_allclose(found, exact[: len(found)], rtol=1e-12, atol=1e-3)


@pytest.mark.exhaustive
def test_all_frames_come_out_again() -> None:
    assert replay.content() == TEXT


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in PAGE.parent.iterdir()) < 1.5e6


@pytest.mark.parametrize("name", ["chromium", "firefox"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("is_dark", [False, True])
def test_it_works_in_browsers(name: str, width: int, is_dark: bool, tmp_path: Path) -> None:
    """The reader of a small screen wants less motion."""
    is_small = width < 1000
    with browsing(name, tmp_path, width=width, is_dark=is_dark, is_calm=is_small) as browser:
        browser.open(PAGE.as_uri())

        def text(selector: str) -> str:
            return str(browser.value(f"document.querySelector('{selector}').textContent"))

        assert browser.value("innerWidth") == width
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")
        is_white = browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert is_white != is_dark
        assert text("#now").startswith("At 12:00, ")
        browser.press("ArrowRight")
        browser.press("ArrowRight")
        browser.press("ArrowLeft")
        assert text("#clock") == "12:10"

        before = text("section"), browser.value("document.querySelector('.own').getAttribute('d')")
        for selector, value in (("section .scheduler", "yarn-cs"), ("section + section .scheduler", "themis")):
            choice = f"document.querySelector('{selector}')"
            browser.value(f"({choice}.value = '{value}', {choice}.dispatchEvent(new Event('change')))")
        titles = text("section h2"), text("section + section h2")
        assert titles == ("YARN-CS, without leases", "Themis, leases of 15 min")
        after = text("section"), browser.value("document.querySelector('.own').getAttribute('d')")
        assert before[0] != after[0] and before[1] != after[1]

        browser.press("Tab")
        assert browser.value("document.activeElement.id") == "play"
        assert browser.value("getComputedStyle(document.activeElement).outlineStyle") != "none"
        browser.press("Tab")
        assert browser.value("document.activeElement.id") == "time"
        browser.press("ArrowRight")
        assert (text("#clock"), browser.value("document.getElementById('now').ariaLive")) == ("12:20", "polite")
        browser.press(" ")
        assert (text("#play"), browser.value("document.getElementById('now').ariaLive")) == ("Pause", "off")
        wait_until(lambda: text("#clock") != "12:20")
        assert text("#clock").endswith(":20") or not is_small  # less motion is a step of an hour
        browser.press(" ")
        assert text("#play") == "Play"
        assert browser.errors == []
