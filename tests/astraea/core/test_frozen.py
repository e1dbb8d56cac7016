"""The arrays of a frozen dataclass cannot be changed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from astraea.core.arrays import FloatArray
from astraea.core.frozen import read_only


@read_only
@dataclass(frozen=True, eq=False)
class Sample:
    values: FloatArray
    several: tuple[FloatArray, ...]


@pytest.mark.parametrize("through", [lambda s: s, lambda s: pickle.loads(pickle.dumps(s)), replace])
def test_nobody_can_write(through: Callable[[Sample], Sample]) -> None:
    whole, parts = np.arange(6.0), (np.arange(2.0), np.array([]))
    closed = whole[3:]
    closed.flags.writeable = False
    sample = through(Sample(whole[:3], (*parts, closed)))
    for array in (sample.values, *sample.several):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 9.0
    whole[:], parts[0][:] = 9.0, 9.0  # the caller keeps no way in
    assert sample.values.tolist() == [0, 1, 2]
    assert [part.tolist() for part in sample.several] == [[0, 1], [], [3, 4, 5]]
    assert replace(sample, several=()).values is sample.values  # an array that is closed is shared
