"""The gallery's metadata: complete, true, and an RO-Crate to its validator."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import requests
from places import ROOT
from rocrate_validator import services
from rocrate_validator.utils.http import HttpRequester

import astraea
from papers.gallery.crate import NAME, identifier, write_crate

FIGURES = ROOT / "figures"
CONTEXT = "https://w3id.org/ro/crate/1.3/context"


def described(folder: Path) -> dict[str, dict[str, Any]]:
    return {one["@id"]: one for one in json.loads((folder / NAME).read_text(encoding="utf-8"))["@graph"]}


def actions(graph: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in graph.values() if one["@type"] == "CreateAction"]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer the validator's one request from the copy that its library has; refuse every other one."""

    def get(self: object, url: str, **_: object) -> requests.Response:
        answer = requests.Response()
        answer.url, answer.status_code = url, 200 if url == CONTEXT else 504
        answer.headers["Content-Type"] = "application/ld+json"
        answer._content = files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
        return answer

    monkeypatch.setattr(HttpRequester, "get", get, raising=False)


def test_committed_metadata_has_every_file_as_it_is() -> None:
    graph = described(FIGURES)
    parts = {part["@id"] for part in graph["./"]["hasPart"]}
    assert parts == {path.name for path in FIGURES.iterdir() if path.name != NAME}
    content = {name: (FIGURES / name).read_bytes() for name in parts}
    assert {name: graph[name]["sha256"] for name in parts} == {k: sha256(v).hexdigest() for k, v in content.items()}
    assert graph["#astraea"]["version"] == astraea.__version__
    outside = [one["url"] for one in graph.values() if one.get("url", "").startswith("../")]
    assert len(outside) > 20 and all((FIGURES / url).is_file() for url in outside)
    assert {one["@id"] for act in actions(graph) for one in act["result"]} == parts


def test_committed_metadata_name_the_code_of_this_checkout() -> None:
    graph = described(FIGURES)
    found = {id.lstrip("#"): one["identifier"] for id, one in graph.items() if id.endswith(".ipynb")}
    assert found == {path: identifier(path) for path in found}, "run make figures"
    assert {f"#{path}" for path in found} == {act["instrument"]["@id"] for act in actions(graph)} - {"#astraea"}
    generator = sha256((ROOT / "papers" / "ye2022" / "generator.toml").read_bytes()).hexdigest()
    assert graph["#trace-venus"]["sha256"] == graph["#trace-philly"]["sha256"] == generator


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # within the validator
def test_validator_accepts_it(tmp_path: Path, offline: None) -> None:
    for name in ("README.md", "fig13_venus.csv", "fig13_venus.png", "fig13_w2.csv", "made_w2.json", "live_slurm.csv"):
        shutil.copy(FIGURES / name, tmp_path)
    write_crate(tmp_path, "make figures", "paper")
    graph = described(tmp_path)
    run = graph["#run-05_efficiency"]
    assert {one["@id"] for one in run["object"]} == {
        "#astraea", "#notebooks/05_efficiency.ipynb", "#trace-venus", "#trace-w2"
    }  # fmt: skip
    assert {one["@id"] for one in run["result"]} == {"fig13_venus.csv", "fig13_venus.png", "fig13_w2.csv"}
    others = {act["name"]: [one["@id"] for one in act["result"]] for act in actions(graph)}
    assert (others["Run make figures"], others["Run make real"]) == (["README.md"], ["made_w2.json"])
    settings = services.ValidationSettings(
        rocrate_uri=str(tmp_path), profile_identifier="ro-crate-1.3", requirement_severity=services.Severity.REQUIRED
    )
    result = services.validate(settings)
    assert result.passed(), [issue.message for issue in result.get_issues()]

    (tmp_path / "fig13_venus.png").unlink()
    assert not services.validate(settings).passed()
