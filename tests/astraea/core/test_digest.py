"""Different data have different digests."""

from __future__ import annotations

import hashlib
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from astraea.core.digest import Part, digest_of

Texts = tuple[str, ...]
texts = st.lists(st.sampled_from(["", "a", "aa", "1:", "\n", "\x1f", "\ud800"]), max_size=3).map(tuple)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(texts, texts, texts, texts)
def test_texts_never_run_together(a: Texts, b: Texts, c: Texts, d: Texts) -> None:
    assert (digest_of(one=a, two=b) == digest_of(one=c, two=d)) == ((a, b) == (c, d))


def test_every_part_counts() -> None:
    parts: list[dict[str, Part]] = [
        {}, {"a": ""}, {"b": ""}, {"a": (), "b": ()}, {"b": (), "a": ()}, {"a": np.zeros(0)}, {"a": np.zeros(1)},
        {"a": np.zeros(1, int)}, {"a": np.zeros((1, 1))}, {"a": np.zeros(2)}, {"a": np.zeros(1), "b": np.zeros(1)},
        {"a": ("\0" * 8,)}, {"a": (), "b": "", "c": ""},
    ]  # fmt: skip
    assert all(digest_of(**one) != digest_of(**other) for one, other in combinations(parts, 2))


def test_the_bytes_are_known() -> None:
    """A committed digest must not depend on a library or on the machine."""
    head, more = b"8:a text 2", b"10:b <i8 (1,)"
    one, five = (1).to_bytes(8, "little"), (5).to_bytes(8, "little")
    content = head + one + one + b"x\xc3\xa4" + more + five
    assert digest_of(a=("x", "ä"), b=np.array([5], np.int32)) == hashlib.sha256(content).hexdigest()
