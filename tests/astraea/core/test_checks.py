"""One number that somebody gave: what is taken, and the sentence for what is not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from astraea.core.checks import is_number, is_whole, number, one_of, whole_number
from astraea.core.errors import InputError


@pytest.mark.parametrize("value", [1, np.int32(1), np.uint8(1)])
def test_whole_numbers_of_python_and_numpy_become_int(value: object) -> None:
    assert type(whole_number(value, "n")) is int
    assert whole_number(value, "n", 1, 1) == 1


@pytest.mark.parametrize("value", [True, np.True_, 1.0, np.float64(1), "1", None, Fraction(1, 2), np.array([1, 2])])
def test_what_is_no_whole_number(value: object) -> None:
    assert not is_whole(value)
    with pytest.raises(InputError, match=r"^n must be a whole number of at least 0, got "):
        whole_number(value, "n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"value": 2.5, "least": 1}, "n must be a whole number of at least 1, got 2.5"),
        ({"value": -1}, "n must be a whole number of at least 0, got -1"),
        ({"value": 10, "least": 1, "most": 9}, "n must be a whole number from 1 to 9, got 10"),
        ({"value": 0, "least": 1, "most": 1_000_000}, "n must be a whole number from 1 to 1000000, got 0"),
        ({"value": 2**63, "most": 2**63 - 1, "expected": "a seed"}, f"n must be a seed, got {2**63}"),
    ],
)
def test_sentences_about_whole_numbers(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        whole_number(name="n", **arguments)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int64(1), Fraction(1, 2)])
def test_numbers_within_the_limits_become_float(value: object) -> None:
    assert is_number(value)
    assert type(number(value, "x", least=0.5, most=1)) is float
    assert number(value, "x", above=0.25, below=1.25) == float(value)


@pytest.mark.parametrize("value", [True, np.False_, "1", None, 1j, np.nan, np.inf, -np.inf, 10**400])
def test_what_is_no_finite_number(value: object) -> None:
    with pytest.raises(InputError, match=r"^x must be a number of at least -5, got "):
        number(value, "x", least=-5)


@pytest.mark.parametrize(
    ("limits", "value", "sentence"),
    [
        ({"least": 0, "most": 1}, 1.5, "x must be a number from 0 to 1, got 1.5"),
        ({"least": 0.0, "most": 0.5}, -0.0001, "x must be a number from 0 to 0.5, got -0.0001"),
        ({"least": 0.25}, 0, "x must be a number of at least 0.25, got 0"),
        ({"above": 0}, 0.0, "x must be a number above 0, got 0.0"),
        ({"above": 0, "most": 1}, 2, "x must be a number above 0 and at most 1, got 2"),
        ({"least": 0, "below": 1, "expected": "a part below 1"}, 1, "x must be a part below 1, got 1"),
    ],
)
def test_sentences_about_numbers(limits: dict[str, object], value: object, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        number(value, "x", **limits)
    assert str(caught.value) == sentence


def test_a_word_that_is_not_known_is_told_the_others() -> None:
    assert one_of("b", {"a": 1, "b": 2}, "letter") == "b"
    with pytest.raises(InputError, match=r"^letter must be one of a, b, got 'c'$"):
        one_of("c", ("a", "b"), "letter")
