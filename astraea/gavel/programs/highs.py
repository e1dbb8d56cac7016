"""Linear programs as plain arrays, solved by HiGHS (https://highs.dev) through its own Python package.

One thread, and always the same options. Which of several equal optima is taken may depend on the programs that the same
`Solver` had before; each simulation has its own, so that its results depend on nothing else.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import highspy
import numpy as np
import numpy.typing as npt
from scipy import sparse

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled

OPTIONS: Final[dict[str, Any]] = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    "primal_feasibility_tolerance": 1e-9,
    "solver": "simplex",
    "presolve": "off",
    "simplex_scale_strategy": 0,
    "simplex_dual_edge_weight_strategy": 1,
}
"""No presolve, no scaling, and Dantzig's rule in the dual simplex method: the programs have coefficients about 1, and
HiGHS' defaults, made for harder ones, take up to five times as long."""

DUAL, PRIMAL = 1, 4
"""Values of HiGHS' option `simplex_strategy`."""

ANSWERS: Final = (
    highspy.HighsModelStatus.kOptimal,
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kUnbounded,
    highspy.HighsModelStatus.kUnboundedOrInfeasible,
)
"""Statuses that another method would give as well; after any other one the interior point method is tried."""


CERTAIN: Final = 1e-7
"""What a solution that was found from another program's basis may miss an optimum by."""


class Columns(NamedTuple):
    """A matrix by columns, as a csc_array has it, without its checks."""

    shape: tuple[int, int]
    indptr: npt.NDArray[np.int32]
    indices: npt.NDArray[np.int32]
    data: FloatArray

    @classmethod
    def of(cls, rows: IntArray, values: FloatArray, count: int) -> Columns:
        """Of the rows in which each column has values, both (columns, k), of `count` rows; zeros are left out."""
        columns, k = values.shape
        there = values != 0
        if there.all():
            ends = np.arange(0, columns * k + 1, k, dtype=np.int32)
            return cls((count, columns), ends, rows.astype(np.int32).ravel(), values.ravel())
        ends = np.zeros(columns + 1, np.int32)
        np.cumsum(there.sum(axis=1), out=ends[1:])
        return cls((count, columns), ends, rows[there].astype(np.int32), values[there])

    @classmethod
    def like(cls, matrix: sparse.csc_array) -> Columns:
        """A matrix of scipy."""
        return cls(matrix.shape, matrix.indptr, matrix.indices, matrix.data)

    def sparse(self) -> sparse.csc_array:
        """As a matrix of scipy."""
        return sparse.csc_array((self.data, self.indices, self.indptr), shape=self.shape)

    def beside(self, other: Columns) -> Columns:
        """These columns, and those of the other."""
        return Columns(
            (self.shape[0], self.shape[1] + other.shape[1]),
            np.concatenate([self.indptr, self.indptr[-1] + other.indptr[1:]]),
            np.concatenate([self.indices, other.indices]),
            np.concatenate([self.data, other.data]),
        )

    def some(self, which: IntArray) -> Columns:
        """Some of the columns."""
        lengths = np.diff(self.indptr)[which]
        ends = np.cumsum(lengths)
        entries = np.repeat(self.indptr[which] - (ends - lengths), lengths) + np.arange(lengths.sum())
        start = np.concatenate([[0], ends]).astype(np.int32)
        return Columns((self.shape[0], len(which)), start, self.indices[entries], self.data[entries])

    def times(self, x: FloatArray) -> FloatArray:
        """The matrix times `x`, shape (rows,)."""
        return np.asarray(_times(self.shape[0], self.indptr, self.indices, self.data, x))

    def worth(self, price: FloatArray) -> FloatArray:
        """`price` times the matrix, shape (columns,)."""
        return np.asarray(_worth(self.indptr, self.indices, self.data, price))


@compiled
def _times(
    count: int, indptr: npt.NDArray[np.int32], indices: npt.NDArray[np.int32], data: FloatArray, x: FloatArray
) -> FloatArray:
    sums = np.zeros(count)
    for column in range(x.shape[0]):
        for entry in range(indptr[column], indptr[column + 1]):
            sums[indices[entry]] += data[entry] * x[column]
    return sums


@compiled
def _worth(
    indptr: npt.NDArray[np.int32], indices: npt.NDArray[np.int32], data: FloatArray, price: FloatArray
) -> FloatArray:
    sums = np.zeros(indptr.shape[0] - 1)
    for column in range(sums.shape[0]):
        for entry in range(indptr[column], indptr[column + 1]):
            sums[column] += data[entry] * price[indices[entry]]
    return sums


class Solution(NamedTuple):
    """What HiGHS found."""

    is_optimal: bool
    message: str  # HiGHS' own word for its status, or why it was not asked
    x: FloatArray  # (variables,)
    price: FloatArray  # (rows,) dual value of each row, at least 0


class Solver:
    """HiGHS for the programs of one simulation, one after the other.

    A program with as many rows as the one before, and no fewer variables, starts from its basis, which saves most of
    the steps. HiGHS has open reports of wrong optima after such starts (ERGO-Code/HiGHS#3194, #3294), so that these
    answers are believed only with a proof: an x within all limits, and prices that are worth no more (weak duality).
    Without one, the program is solved from nothing.
    """

    def __init__(self) -> None:
        self._highs = highspy.Highs()
        for name, value in OPTIONS.items():
            self._highs.setOptionValue(name, value)
        self._basis: tuple[tuple[int, int], Any] | None = None

    def maximize(
        self, objective: FloatArray, rows: Columns, limits: FloatArray, upper: FloatArray | None = None, *,
        strategy: int = DUAL,
    ) -> Solution:  # fmt: skip
        """Maximize ``objective @ x`` subject to ``rows @ x <= limits`` and ``0 <= x <= upper``.

        Parameters
        ----------
        objective : array of float, shape (variables,)
        rows : matrix by columns, shape (rows, variables)
        limits : array of float, shape (rows,)
            inf for a row without a limit.
        upper : array of float, shape (variables,), optional
        strategy : int
            `DUAL` is faster for the least of many shares, `PRIMAL` for a sum, where variables far outnumber rows, and
            from another program's basis.
        """
        numbers = np.isfinite(objective).all() and np.isfinite(rows.data).all() and not np.isnan(limits).any()
        if not numbers:  # HiGHS would not stop
            return Solution(False, "a coefficient is no number", *np.zeros((2, 0)))
        highs, (count, size), before = self._highs, rows.shape, self._basis
        self._basis = None
        least, most = np.zeros(size), np.full(size, np.inf) if upper is None else upper
        highs.passModel(
            size, count, len(rows.data), int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMaximize), 0.0,
            objective, least, most, np.full(count, -np.inf), limits,
            rows.indptr, rows.indices, rows.data, np.zeros(size, np.int32),
        )  # fmt: skip
        if before is not None and before[0][0] == count and before[0][1] <= size:
            highs.setOptionValue("simplex_strategy", PRIMAL)
            (_, variables), basis = before
            if variables < size:  # those that are new at 0
                basis.col_status = basis.col_status + [highspy.HighsBasisStatus.kLower] * (size - variables)
            highs.setBasis(basis)
            highs.run()
            found = self._found()
            if found.is_optimal and is_proven(found, objective, rows, limits, most):
                self._basis = rows.shape, highs.getBasis()
                return found
            highs.clearSolver()
        highs.setOptionValue("simplex_strategy", strategy)
        highs.run()
        if highs.getModelStatus() not in ANSWERS:
            highs.clearSolver()
            highs.setOptionValue("solver", "ipm")
            highs.run()
            highs.setOptionValue("solver", OPTIONS["solver"])
        elif highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            self._basis = rows.shape, highs.getBasis()
        return self._found()

    def _found(self) -> Solution:
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            return Solution(False, self._highs.modelStatusToString(status), *np.zeros((2, 0)))
        found = self._highs.getSolution()
        return Solution(True, "Optimal", np.maximum(found.col_value, 0.0), np.maximum(found.row_dual, 0.0))


def is_proven(found: Solution, objective: FloatArray, rows: Columns, limits: FloatArray, upper: FloatArray) -> bool:
    """Whether x keeps to the limits and the prices show that nothing is worth more, up to `CERTAIN`."""
    left = objective - rows.worth(found.price)  # what a variable gains beyond what it uses
    return bool(_is_proven(found.x, found.price, rows.times(found.x), left, objective, limits, upper))


@compiled
def _is_proven(
    x: FloatArray, price: FloatArray, used: FloatArray, left: FloatArray, objective: FloatArray, limits: FloatArray,
    upper: FloatArray,
) -> bool:  # fmt: skip
    bound = value = 0.0
    for row in range(limits.shape[0]):
        if used[row] > limits[row] + CERTAIN:
            return False
        if price[row] > CERTAIN:
            bound += price[row] * limits[row]
    for column in range(x.shape[0]):
        if x[column] > upper[column] + CERTAIN:
            return False
        if left[column] > CERTAIN:
            bound += left[column] * upper[column]  # inf if a variable without bound gains
        value += objective[column] * x[column]
    return bound - value <= CERTAIN * max(1.0, x.shape[0], abs(value))
