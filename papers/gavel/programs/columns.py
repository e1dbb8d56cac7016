"""Matrices of programs, by columns as HiGHS takes them, and what is computed with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled


class Columns(NamedTuple):
    """A matrix by columns, as a csc_array has it, without its checks."""

    shape: tuple[int, int]
    indptr: npt.NDArray[np.int32]
    indices: npt.NDArray[np.int32]
    data: FloatArray

    @classmethod
    def ones(cls, rows: IntArray, count: int) -> Columns:
        """Build a matrix of `count` rows with a 1 in each column, in these rows, (columns,)."""
        size = len(rows)
        return cls((count, size), np.arange(size + 1, dtype=np.int32), rows.astype(np.int32), np.ones(size))

    @classmethod
    def like(cls, matrix: sparse.csc_array) -> Columns:
        """A matrix of scipy."""
        return cls(matrix.shape, matrix.indptr, matrix.indices, matrix.data)

    def sparse(self) -> sparse.csc_array:
        """Return the same as a matrix of scipy."""
        return sparse.csc_array((self.data, self.indices, self.indptr), shape=self.shape)

    def beside(self, other: Columns) -> Columns:
        """Return these columns followed by the other's."""
        return Columns(
            (self.shape[0], self.shape[1] + other.shape[1]),
            np.concatenate([self.indptr, self.indptr[-1] + other.indptr[1:]]),
            np.concatenate([self.indices, other.indices]),
            np.concatenate([self.data, other.data]),
        )

    def and_one(self, row: int, values: FloatArray) -> Columns:
        """Return these columns and one with values from some row on, without zeros."""
        count, columns = self.shape
        return Columns((count, columns + 1), *with_column(self.indptr, self.indices, self.data, row, values))

    def over(self, values: FloatArray) -> Columns:
        """Return these columns with a further row below."""
        count, columns = self.shape
        ends = np.arange(columns + 1, dtype=np.int32) + self.indptr
        last = self.indptr[1:]  # a column ends with its value of the new row
        indices, data = np.insert(self.indices, last, count), np.insert(self.data, last, values)
        return Columns((count + 1, columns), ends, indices, data)

    def times(self, x: FloatArray) -> FloatArray:
        """Return the matrix times `x`, shape (rows,)."""
        return np.asarray(times(self.shape[0], self.indptr, self.indices, self.data, x))

    def worth(self, price: FloatArray) -> FloatArray:
        """Return `price` times the matrix, shape (columns,)."""
        return np.asarray(worth(self.indptr, self.indices, self.data, price))


@compiled
def with_column(
    indptr: npt.NDArray[np.int32], indices: npt.NDArray[np.int32], data: FloatArray, row: int, values: FloatArray
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], FloatArray]:
    """Compute `Columns.and_one`."""
    size, end = indptr.shape[0], data.shape[0]
    room = end + values.shape[0]
    ends, rows, entries = np.empty(size + 1, np.int32), np.empty(room, np.int32), np.empty(room)
    ends[:size], rows[:end], entries[:end] = indptr, indices, data
    for i in range(values.shape[0]):
        if values[i] != 0.0:
            rows[end], entries[end] = row + i, values[i]
            end += 1
    ends[size] = end
    return ends, rows[:end], entries[:end]


@compiled
def times(
    count: int, indptr: npt.NDArray[np.int32], indices: npt.NDArray[np.int32], data: FloatArray, x: FloatArray
) -> FloatArray:
    """Compute `Columns.times`."""
    sums = np.zeros(count)
    for column in range(x.shape[0]):
        for entry in range(indptr[column], indptr[column + 1]):
            sums[indices[entry]] += data[entry] * x[column]
    return sums


@compiled
def worth(
    indptr: npt.NDArray[np.int32], indices: npt.NDArray[np.int32], data: FloatArray, price: FloatArray
) -> FloatArray:
    """Compute `Columns.worth`."""
    sums = np.zeros(indptr.shape[0] - 1)
    for column in range(sums.shape[0]):
        for entry in range(indptr[column], indptr[column + 1]):
            sums[column] += data[entry] * price[indices[entry]]
    return sums


@compiled
def excess(used: FloatArray, limits: FloatArray) -> float:
    """Return the most by which a row is used beyond its limit, as a factor of at least 1; `used` may have more rows."""
    most = 1.0
    for row in range(limits.shape[0]):
        if limits[row] > 0:
            most = max(most, used[row] / limits[row])
    return most


@compiled
def class_columns(
    owner: IntArray, row: IntArray, gpus: FloatArray, below: int, rate: FloatArray
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], FloatArray]:
    """`Columns` of variables without pairs; `row` are those of GPUs, and those of throughputs begin `below`."""
    (size, k), i = gpus.shape, 0
    indptr, indices = np.zeros(size + 1, np.int32), np.empty((k + 2) * size, np.int32)
    data = np.empty((k + 2) * size)
    for v in range(size):
        indices[i], data[i] = owner[v], 1.0
        i += 1
        for at in range(k):
            if gpus[v, at] != 0.0:
                indices[i], data[i] = row[v, at], gpus[v, at]
                i += 1
        indices[i], data[i] = below + owner[v], -rate[v]
        i += 1
        indptr[v + 1] = i
    return indptr, indices[:i], data[:i]


@compiled
def pair_columns(
    which: IntArray, a: IntArray, b: IntArray, at: IntArray, types: int, mine: FloatArray, theirs: FloatArray,
    jobs: FloatArray, gpus: IntArray, fastest: FloatArray,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], FloatArray]:  # fmt: skip
    """`Columns` of some pairs; rows are those of `class_columns`."""
    n, i = jobs.shape[0], 0
    indptr, indices = np.zeros(which.shape[0] + 1, np.int32), np.empty(5 * which.shape[0], np.int32)
    data = np.empty(5 * which.shape[0])
    for column, v in enumerate(which):
        for k, m in enumerate((a[v], b[v])):
            if k == 0 or a[v] != b[v]:
                indices[i], data[i] = m, (1 + (a[v] == b[v])) / jobs[m]
                i += 1
        indices[i], data[i] = n + at[v], gpus[a[v]]
        i += 1
        for k, m in enumerate((a[v], b[v])):
            if k == 0 or a[v] != b[v]:
                indices[i], data[i] = n + types + m, -(mine[v] if k == 0 else theirs[v]) / fastest[m]
                i += 1
        indptr[column + 1] = i
    return indptr, indices[:i].copy(), data[:i].copy()


@compiled
def paying_pairs(
    objective: FloatArray, price: FloatArray, least: float, chosen: IntArray, a: IntArray, b: IntArray, at: IntArray,
    types: int, mine: FloatArray, theirs: FloatArray, jobs: FloatArray, gpus: IntArray, fastest: FloatArray,
) -> tuple[IntArray, FloatArray]:  # fmt: skip
    """Return the pairs, except the chosen, whose worth exceeds their use at these prices by `least`, and the excess."""
    n, pay, skip = jobs.shape[0], 0, np.zeros(a.shape[0], np.bool_)
    which, gains = np.empty(a.shape[0], np.int64), np.empty(a.shape[0])
    for v in chosen:
        skip[v] = True
    for v in range(a.shape[0]):
        one, other = a[v], b[v]
        uses = (2.0 if one == other else 1.0) / jobs[one] * price[one]
        if one != other:
            uses += 1.0 / jobs[other] * price[other]
        uses += gpus[one] * price[n + at[v]]
        uses += -mine[v] / fastest[one] * price[n + types + one]
        if one != other:
            uses += -theirs[v] / fastest[other] * price[n + types + other]
        gain = objective[v] - uses
        if gain > least and not skip[v]:
            which[pay], gains[pay], pay = v, gain, pay + 1
    return which[:pay], gains[:pay]
