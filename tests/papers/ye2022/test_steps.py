"""Step by step from Algorithm 1 to what the authors measured: each step is what its name says."""

from __future__ import annotations

from papers.ye2022.evaluation import main_grid
from papers.ye2022.readings import MEASURED, PAPERS
from papers.ye2022.steps import SHOWN, STEPS, steps_grid


def test_the_third_step_and_the_last_are_the_two_readings() -> None:
    grid, main = steps_grid("venus", "small"), main_grid("venus", "small")
    for step, reading in ((STEPS[2], PAPERS), (STEPS[-1], MEASURED)):
        rows = main.index[(main.index["reading"] == reading) & (main.index["seed"] == 0)]
        mine = rows[rows["scheduler"].isin(SHOWN)]
        found = grid.index.index[grid.index["step"] == step.name]
        assert {grid.runs[k].key for k in found} == {main.runs[k].key for k in mine.index}


def test_the_first_step_and_the_program_have_submissions_to_the_second() -> None:
    grid = steps_grid("venus", "small")
    for run, step in zip(grid.runs, grid.index["step"], strict=True):
        assert (run.trace.submit_time % 10).any() == (step in (STEPS[0].name, STEPS[-1].name))


def test_every_step_has_all_four() -> None:
    steps = steps_grid("venus", "small").index.groupby("step")["scheduler"].agg(set)
    assert set(map(frozenset, steps)) == {frozenset(SHOWN)}
