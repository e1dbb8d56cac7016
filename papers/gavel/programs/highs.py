"""Linear programs as plain arrays, solved by HiGHS (https://highs.dev) through its own Python package.

One thread, and always the same options. Which of several equal optima is taken may depend on the programs that the same
`Solver` had before; each simulation has its own, so that its results depend on nothing else.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import highspy
import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled
from papers.gavel.programs.columns import Columns, times, worth

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

BY_COLUMNS, MAXIMIZE = int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMaximize)
"""HiGHS' constants for a matrix by columns, and for maximization."""

DUAL, PRIMAL = 1, 4
"""Values of HiGHS' option `simplex_strategy`."""

OPTIMAL: Final = highspy.HighsModelStatus.kOptimal

ANSWERS: Final = (
    OPTIMAL,
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kUnbounded,
    highspy.HighsModelStatus.kUnboundedOrInfeasible,
)
"""Statuses that another method would give as well; after any other one the interior point method is tried."""

CERTAIN: Final = 1e-7
"""Largest distance from the optimum of a solution found from another program's basis."""


class Solution(NamedTuple):
    """A solution of HiGHS."""

    is_optimal: bool
    message: str  # HiGHS' own word for its status, or why it was not asked
    x: FloatArray  # (variables,)
    price: FloatArray  # (rows,) dual value of each row, at least 0


class Solver:
    """HiGHS for the programs of one simulation, one after the other.

    A program with as many rows as the one before, and no fewer variables, starts from its basis, which saves most of
    the steps. HiGHS has open reports of wrong optima after such starts (ERGO-Code/HiGHS#3194, #3294). These answers are
    therefore believed only with a proof: an x within all limits, and prices that are worth no more (weak duality).
    Without one, the program is solved from nothing.
    """

    def __init__(self) -> None:
        self.pairs: IntArray = np.zeros(0, np.int64)  # names of those that had time in the last solution
        self._highs = highspy.Highs()
        for name, value in OPTIONS.items():
            self._highs.setOptionValue(name, value)
        self._basis: tuple[tuple[int, int], Any] | None = None

    def maximize(
        self, objective: FloatArray, rows: Columns, limits: FloatArray, upper: FloatArray | None = None, *,
        strategy: int = DUAL,
    ) -> Solution:  # fmt: skip
        """Maximize ``objective @ x`` subject to ``rows @ x <= limits`` and ``0 <= x <= upper``.

        Shapes are (variables,), (rows, variables), (rows,) and (variables,); a row without a limit has inf. The
        strategy `DUAL` is faster for the least of many shares, `PRIMAL` for a sum, where variables far outnumber rows,
        and from another program's basis.
        """
        if not are_numbers(objective, rows.data, limits):  # HiGHS would not stop
            return Solution(False, "a coefficient is no number", *np.zeros((2, 0)))
        highs, (count, size), basis, known = self._highs, rows.shape, None, rows.shape[1]
        if self._basis is not None and self._basis[0][0] == count and self._basis[0][1] <= size:
            (_, known), basis = self._basis  # of so many variables
        self._basis = None
        most, lower = np.full(size, np.inf) if upper is None else upper, np.zeros(size)
        start, end = rows.indptr, int(rows.indptr[known])
        highs.passModel(
            known, count, end, BY_COLUMNS, MAXIMIZE, 0.0, objective[:known], lower[:known], most[:known],
            np.full(count, -np.inf), limits, start[: known + 1], rows.indices[:end], rows.data[:end],
            np.zeros(known, np.int32),
        )  # fmt: skip
        if basis is not None:
            highs.setOptionValue("simplex_strategy", PRIMAL)
            highs.setBasis(basis)
            if known < size:  # the others are new, at 0
                highs.addCols(
                    size - known, objective[known:], lower[known:], most[known:], len(rows.data) - end,
                    start[known:size] - end, rows.indices[end:], rows.data[end:],
                )  # fmt: skip
            highs.run()
            found = self._found()
            if found.is_optimal and is_proven(found.x, found.price, *rows[1:], objective, limits, most):
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
        elif highs.getModelStatus() == OPTIMAL:
            self._basis = rows.shape, highs.getBasis()
        return self._found()

    def _found(self) -> Solution:
        status = self._highs.getModelStatus()
        if status != OPTIMAL:
            return Solution(False, self._highs.modelStatusToString(status), *np.zeros((2, 0)))
        found = self._highs.getSolution()
        x, price = np.array(found.col_value), np.array(found.row_dual)
        return Solution(True, "Optimal", np.maximum(x, 0.0, out=x), np.maximum(price, 0.0, out=price))


@compiled
def are_numbers(objective: FloatArray, data: FloatArray, limits: FloatArray) -> bool:
    """Return True if the coefficients are finite, and the limits are numbers or inf."""
    for coefficients in (objective, data):
        for value in coefficients:
            if not np.isfinite(value):
                return False
    for limit in limits:
        if np.isnan(limit):
            return False
    return True


@compiled
def is_proven(
    x: FloatArray, price: FloatArray, indptr: npt.NDArray[np.int32], indices: npt.NDArray[np.int32], data: FloatArray,
    objective: FloatArray, limits: FloatArray, upper: FloatArray,
) -> bool:  # fmt: skip
    """Return True if x is within the limits and the prices prove it optimal, both up to `CERTAIN`."""
    used = times(limits.shape[0], indptr, indices, data, x)
    charge = worth(indptr, indices, data, price)
    bound = value = 0.0
    for row in range(limits.shape[0]):
        if used[row] > limits[row] + CERTAIN:
            return False
        if price[row] > CERTAIN:
            bound += price[row] * limits[row]
    for column in range(x.shape[0]):
        if x[column] > upper[column] + CERTAIN:
            return False
        left = objective[column] - charge[column]  # what the variable gains beyond what it uses
        if left > CERTAIN:
            bound += left * upper[column]  # inf if a variable without bound gains
        value += objective[column] * x[column]
    return bound - value <= CERTAIN * max(1.0, x.shape[0], abs(value))
