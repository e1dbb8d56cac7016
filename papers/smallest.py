"""The smallest case of which something is true: Hypothesis draws cases, and shrinks the first one that is found."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def smallest(cases: SearchStrategy[T], is_found: Callable[[T], bool], tries: int = 1000) -> T | None:
    """Return a case of which something is true and which cannot be shrunk further, the same at each call.

    Parameters
    ----------
    cases : strategy of Hypothesis
        What to draw from. Shorter lists, lower numbers and earlier options are smaller.
    is_found : function
        Whether it is true of a case.
    tries : int
        Cases drawn before the search gives up and returns None.
    """
    chosen = settings(max_examples=tries, database=None, deadline=None, phases=[Phase.generate, Phase.shrink],
                      suppress_health_check=list(HealthCheck))  # fmt: skip
    try:
        return find(cases, is_found, settings=chosen, random=Random(0))
    except NoSuchExample:
        return None
