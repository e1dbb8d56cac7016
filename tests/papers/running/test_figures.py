"""`make figures` on notebooks that the tests write, and what committed figures of real workloads were made from."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import joblib
import nbformat
import pytest
from listed_jobs import listed
from places import ROOT
from trace_samples import write_csv

from astraea.core import source
from astraea.core.errors import InputError
from astraea.plots.files import VARIABLE
from papers.notebook_cells import read
from papers.running import figures, notebooks
from papers.running.figures import make_figures, write_record
from papers.ye2022.evaluation import load_workload

PARAMETERS = 'TRACE = "venus"\nSCALE: str = "small"\nOUT = "."\nJOBS = 1'
FIGURES = ROOT / "figures"
RECORDS = [json.loads(path.read_text()) for path in sorted(FIGURES.glob("made_*.json"))]
GOOD = "from pathlib import Path\nPath(OUT, f'extra_{TRACE}.csv').write_text(f'{TRACE},{SCALE},{JOBS}\\n');"


def write(path: Path, *cells: str, parameters: str | None = PARAMETERS) -> None:
    made = [nbformat.v4.new_markdown_cell("# A test", id="title")]
    if parameters is not None:
        made.append(nbformat.v4.new_code_cell(parameters, id="parameters", metadata={"tags": ["parameters"]}))
    made += [nbformat.v4.new_code_cell(source, id=f"cell-{k}") for k, source in enumerate(cells)]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)


@pytest.mark.slow
def test_good_and_failing_notebooks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "notebooks" / "01_good.ipynb", GOOD)
    bad = "raise ValueError('no such thing\\nand more')"
    write(tmp_path / "notebooks" / "02_bad.ipynb", "1 + 1", bad, parameters="JOBS = 0")
    (tmp_path / "notebooks" / "scratch.ipynb").write_text("not a notebook of the project")
    with joblib.parallel_config("loky", n_jobs=2):
        assert make_figures("venus", root=tmp_path, scale="small") == 1
    said = capsys.readouterr()
    assert "failed: 02_bad, cell 4: ValueError: no such thing\n" in said.err
    assert "Traceback" not in said.err and "and more" not in said.err
    build = tmp_path / "build" / "small-venus"
    assert (build / "notebooks" / "02_bad.ipynb").is_file()
    assert (build / "figures" / "extra_venus.csv").read_text() == "venus,small,2\n"
    assert str(build / "figures" / "README.md") in said.out
    assert not (tmp_path / "figures").exists()
    # the failed one would be tried again, the good one left alone
    tasks = figures._tasks(tmp_path, "venus", "small", None, False)
    assert {task.name: figures.up_to_date(task) for task in tasks} == {"01_good-venus": True, "02_bad": False}


@pytest.mark.slow
def test_a_killed_process_is_named_and_nothing_is_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    killing = f"{GOOD}\nimport os, signal\nos.kill(os.getppid(), signal.SIGKILL)  # the process that runs the notebook"
    write(tmp_path / "notebooks" / "01_killing.ipynb", killing)
    with joblib.parallel_config("loky", n_jobs=1):
        assert make_figures("venus", root=tmp_path, scale="small") == 1
    said = capsys.readouterr()
    assert "failed: 01_killing-venus, a process was killed before it was done, perhaps for lack of memory" in said.err
    assert not list((tmp_path / "build" / "small-venus" / "figures").glob("*_*.csv"))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the notebooks that are run; instead of a kernel, what they do is written by hand."""
    done: list[str] = []

    def run(source: Path, output: Path, parameters: dict[str, object]) -> notebooks.Outcome:
        done.append(output.stem)
        name = f"extra_{parameters['TRACE']}.csv".replace("/", "-")
        Path(str(parameters["OUT"]), name).write_text(f"{parameters['SCALE']}\n")
        return notebooks.Outcome(output, 0.5)

    monkeypatch.setattr(notebooks, "run", run)
    monkeypatch.setattr(figures, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    return done


def test_second_run_does_nothing_until_something_changes(
    tmp_path: Path, runs: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notebooks" / "01_good.ipynb"
    write(path, GOOD)
    both = ["01_good-venus", "01_good-philly"]

    def again(**options: object) -> list[str]:
        runs.clear()
        assert make_figures(root=tmp_path, **options) == 0  # type: ignore[arg-type]
        return list(runs)

    assert again() == both
    assert (tmp_path / "figures" / "extra_venus.csv").read_text() == "paper\n"
    page = (tmp_path / "figures" / "README.md").read_bytes()
    capsys.readouterr()
    assert again() == []
    assert "nothing to do: 01_good-venus is unchanged" in capsys.readouterr().out
    assert (tmp_path / "figures" / "README.md").read_bytes() == page
    assert again(scale="small") == both  # another parameter
    (tmp_path / "figures" / "extra_philly.csv").write_text("by hand\n")  # an output
    assert again() == both[1:]
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text="an output")]
    nbformat.write(notebook, path)
    assert again() == []  # outputs are not sources
    (tmp_path / "requirements.lock").write_text("numpy==2.0\n")
    assert again() == both
    record = tmp_path / "build" / "paper" / "records" / "01_good-venus.json"
    record.write_text("{")  # damaged
    assert again() == both[:1]
    old = json.loads(record.read_text())  # what is no longer written goes
    record.write_text(json.dumps({"digest": "of before", "outputs": {**old["outputs"], "old.png": ""}}))
    for name in ("old.png", "mine.png"):
        (tmp_path / "figures" / name).write_bytes(b"")
    assert again() == both[:1]
    assert {path.name for path in (tmp_path / "figures").glob("*.png")} == {"mine.png"}
    # a form that is wanted and not there is made, and stays where it is not wanted
    task = next(figures._tasks(tmp_path, None, "paper", None, False))
    drawn = {f"fig_venus.{form}": sha256().hexdigest() for form in ("png", "pdf")}
    for forms, wanted, is_current in (("png", "", True), ("png", "pdf", False), ("png pdf", "pdf", True)):
        outputs = {name: drawn[name] for name in (f"fig_venus.{form}" for form in forms.split())}
        for name in outputs:
            (task.target / name).write_bytes(b"")
        record.write_text(json.dumps({"digest": task.digest, "target": str(task.target), "outputs": outputs}))
        monkeypatch.setenv(VARIABLE, wanted)
        assert figures.up_to_date(task) == is_current


def test_changed_data_runs_again(tmp_path: Path, runs: list[str]) -> None:
    write(tmp_path / "notebooks" / "01_good.ipynb", GOOD)
    data = tmp_path / "my trace"
    data.mkdir()
    for content, expected in (("x\n", 1), ("x\n", 1), ("y\n", 2)):
        (data / "a.csv").write_text(content)
        assert make_figures(str(data), root=tmp_path) == 0
        assert len(runs) == expected
    assert runs[0] == "01_good-my-trace" and not (tmp_path / "figures").exists()
    assert (tmp_path / "build" / "paper-my-trace" / "figures" / "README.md").is_file()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"scale": "huge"}, "scale must be one of small, paper, got 'huge'"),
        ({"only": "99"}, "there is no notebook 99"),
        ({"trace": "no-such-trace"}, "no-such-trace: no such file or folder"),
        ({"only": "02"}, r"02_x\.ipynb: not a notebook that can be read"),
        ({"shown": True}, "--shown needs --trace and --scale paper"),
        ({"shown": True, "trace": "w2", "scale": "small"}, "--shown needs --trace and --scale paper"),
    ],
)
def test_bad_arguments(tmp_path: Path, options: dict[str, object], says: str) -> None:
    write(tmp_path / "notebooks" / "01_good.ipynb", GOOD)
    (tmp_path / "notebooks" / "02_x.ipynb").write_text("{")
    with pytest.raises(InputError, match=says):
        make_figures(root=tmp_path, **{"only": "01", **options})  # type: ignore[arg-type]


def test_what_decides_the_outputs_of_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest(cell: str) -> str:
        write(tmp_path / "a.ipynb", cell)
        return notebooks.digest(read(tmp_path / "a.ipynb"), {}, [], tmp_path)

    cell = "%matplotlib inline\nfrom astraea.plots import style\nstyle"
    before = digest(cell)
    assert digest(cell) == before
    assert digest(f"{cell}  # a comment, which a reader of the executed notebook sees") != before
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "found.csv").write_text("x\n1\n")
    assert digest(cell) == before
    named = digest(f'{cell}\n"found.csv"')
    (tmp_path / "data" / "found.csv").write_text("x\n2\n")
    assert digest(f'{cell}\n"found.csv"') != named
    monkeypatch.setattr(notebooks, "code", lambda: "of other modules")
    assert digest(cell) != before


@pytest.mark.parametrize("file", ["astraea/core/a.py", "ops/astraea_ops/audit/a.jinja", "papers/a.toml"])
def test_an_edit_of_any_package_makes_notebooks_run_again(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "ROOT", tmp_path)
    before = notebooks.code.__wrapped__()
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text("")
    assert notebooks.code.__wrapped__() != before


def test_every_committed_figure_of_a_real_workload_is_in_a_record() -> None:
    traces = {record["trace"] for record in RECORDS}
    assert traces == {"w2", "chrslo", "philly-vcs", "itp"}
    there = {p.name for trace in traces for p in FIGURES.glob(f"*_{trace}.*") if p.suffix != ".json"}
    recorded = {name for record in RECORDS for name in record["files"]}
    assert {name for name in there if not name.startswith("verification")} == recorded


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["trace"])
def test_committed_figures_are_up_to_date(record: dict[str, Any]) -> None:
    assert {name: sha256((FIGURES / name).read_bytes()).hexdigest() for name in record["files"]} == record["files"]
    try:
        trace = load_workload(record["trace"])[0]
    except InputError:
        return  # the data is not here
    assert trace.digest == record["trace_sha256"]


def test_what_is_recorded(tmp_path: Path) -> None:
    log = write_csv(listed(("1", "a", 1, 0.0, 60.0)), tmp_path / "log.csv")
    path = tmp_path / "made_log.json"
    write_record(path, log, {"fig13_log.csv": "8"})
    assert json.loads(path.read_text()) == {
        "command": "make real", "trace": log, "trace_sha256": load_workload(log)[0].digest,
        "files": {"fig13_log.csv": "8"},
    }  # fmt: skip
