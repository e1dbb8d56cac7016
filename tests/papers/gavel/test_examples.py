"""Worked examples, and Algorithm 1 on one GPU of each type."""

from __future__ import annotations

import numpy as np
import pytest

from papers.gavel.examples import examples_of_tests, in_rounds, worked_examples


def test_the_examples_of_the_paper_have_the_printed_values() -> None:
    table = worked_examples()
    exact = table[table["quantity"] != "gain over isolated"]
    assert exact["value"].to_numpy() == pytest.approx(exact["paper"].to_numpy(), abs=0.01)
    assert table["value"][table["quantity"] == "gain over isolated"].item() == pytest.approx(100 / 11)


def test_both_optima_have_the_throughputs_of_the_authors_tests_and_one_rule_differs() -> None:
    table = examples_of_tests()
    off = table[["central", "largest-sum"]].sub(table["published"], axis=0).abs().max(axis=1)
    assert set(table["quantity"][off > 1e-3]) == {"FIFO inside, GPUs"}


def test_rounds_realize_an_allocation() -> None:
    X = np.array([[0.6, 0.4, 0.0], [0.2, 0.6, 0.2], [0.2, 0.0, 0.8]])
    priorities, grid = in_rounds(X, [(0,), (1,), (2,)], 20)
    assert grid[0].tolist() == [0, 1, 2] and priorities[1, 0, 0] == pytest.approx(0.6 / 1.5)
    received = np.array([(grid == m).mean(axis=0) for m in range(3)])
    np.testing.assert_allclose(received, X, atol=0.05)


def test_no_job_is_in_two_combinations_at_once() -> None:
    X = np.array([[0.5, 0.5], [0.0, 0.5], [0.5, 0.0]])
    _, grid = in_rounds(X, [(0,), (1,), (0, 1)], 30)
    members = [(0,), (1,), (0, 1), ()]
    assert all(len({*members[a], *members[b]}) == len(members[a]) + len(members[b]) for a, b in grid)
