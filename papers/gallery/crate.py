"""The gallery as a research object: what made each file, from which traces and which code.

The form is RO-Crate 1.3: <https://w3id.org/ro/crate/1.3>.
"""

from __future__ import annotations

import json
import mimetypes
import os
import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

import astraea
from astraea.traces.named import FETCHED
from astraea.traces.sources import SOURCES
from astraea.traces.synthetic import SYNTHETIC
from papers import ROOT, notebooks
from papers.gallery.captions import EVERY, OWN_WORKLOADS
from papers.notebook_cells import read

NAME: Final = "ro-crate-metadata.json"
"""File with the metadata, beside the pages."""

LICENCE: Final = "https://creativecommons.org/licenses/by/4.0/"
"""Licence of the figures and their text."""

COMMANDS: Final = {"made": "make real", "verification": "make verify"}
"""First word of a file's name -> command that writes it; what no notebook writes otherwise is the gallery's own."""

_FORMS: Final = {".md": "text/markdown", ".csv": "text/csv"}


def write_crate(folder: Path, command: str, scale: str) -> Path:
    """Describe every file of a finished gallery in its ``ro-crate-metadata.json``, and return the path of that file.

    Each file has its size and SHA-256. Each notebook is an action with the code and the traces that it used, and with
    the files that it wrote; so is each command that writes other files. Code is identified by a digest, because no file
    can contain the hash of its own commit, and earlier commits may be rewritten. The date is that of the last change.
    """
    crate = ROCrate()
    crate.name = "Figures, tables and verdicts of Astraea"
    crate.description = (
        f"What `{command}` writes at the scale `{scale}`: figures of papers on fair schedulers for GPU clusters, made "
        "anew, with the numbers behind them and a verdict on each published statement."
    )
    crate.datePublished = _changed()
    crate.license = _add(crate, LICENCE, "CreativeWork", "CC BY 4.0", description="Licence of text and figures.")
    people = _add(crate, "#contributors", "Organization", "The Astraea contributors", url=_url(folder, "CITATION.cff"))
    crate.creator = crate.publisher = people
    code = _add(
        crate, "#astraea", "SoftwareApplication", "Astraea", version=astraea.__version__,
        url=_url(folder, "README.md"), description="Simulator, schedulers and the papers' experiments.",
    )  # fmt: skip
    written = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name != NAME]
    files = {path.name: _file(crate, path) for path in written}
    made = set[Path]()

    def act(by: str, about: str, used: list[ContextEntity], results: list[Path]) -> None:
        id = f"#run-{re.sub(r'[^A-Za-z0-9_]+', '-', by.removeprefix('notebook '))}"
        action = _add(crate, id, "CreateAction", f"Run {by}", instrument=used[1] if used[1:] else used[0],
                      description=about, object=used)  # fmt: skip
        action["result"] = [files[path.name] for path in results]
        crate.root_dataset.append_to("mentions", action)
        made.update(results)

    for name in sorted({entry.notebook for entry in EVERY if entry.notebook}):
        entries = [entry for entry in EVERY if entry.notebook == name]
        results = [path for path in written if any(entry.has(_figure(path)) for entry in entries)]
        if results:
            traces = [_trace(crate, folder, trace) for trace in _traces(name, results)]
            about = "; ".join(entry.title for entry in entries)
            act(f"notebook {name}", about, [code, _notebook(crate, folder, name), *traces], results)
    others = [path for path in written if path not in made]
    for by in dict.fromkeys(COMMANDS.get(_figure(path), command) for path in others):
        results = [path for path in others if COMMANDS.get(_figure(path), command) == by]
        act(by, "Pages and tables that no notebook writes", [code], results)
    crate.metadata.write(folder)
    return folder / NAME


def _add(crate: ROCrate, id: str, kind: str, name: str, **about: Any) -> ContextEntity:
    """Add what is described and lies outside the folder; what was added before stays as it is."""
    known: ContextEntity | None = crate.get(id)
    return known or crate.add(ContextEntity(crate, id, {"@type": kind, "name": name, **about}))


def _file(crate: ROCrate, path: Path) -> Any:
    content = path.read_bytes()
    figure, _, trace = path.stem.partition("_")
    titles = [f"{entry.title}{trace and f', {trace}'}" for entry in EVERY if entry.has(figure)]
    about = {"sha256": sha256(content).hexdigest(), "contentSize": str(len(content)), "name": path.name,
             "description": titles[0] if titles else path.stem}  # fmt: skip
    kind = _FORMS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return crate.add_file(path, path.name, properties={**about, "encodingFormat": kind})


def _figure(path: Path) -> str:
    return path.stem.partition("_")[0]


def _notebook(crate: ROCrate, folder: Path, name: str) -> ContextEntity:
    path = notebooks()[name].relative_to(ROOT).as_posix()
    about = "The identifier is the SHA-256 of the code in its cells."
    return _add(crate, f"#{path}", "SoftwareApplication", path, version=astraea.__version__, description=about,
                identifier=identifier(path), url=_url(folder, path))  # fmt: skip


def identifier(path: str) -> str:
    """Return the SHA-256 of the code in a notebook's cells; `path` is relative to the checkout."""
    cells = "\n".join(cell.source for cell in read(ROOT / path) if cell.cell_type == "code")
    return f"sha256:{sha256(cells.encode()).hexdigest()}"


def _url(folder: Path, path: str) -> str:
    return Path(os.path.relpath(ROOT / path, folder)).as_posix()


def _traces(notebook: str, results: Sequence[Path]) -> list[str]:
    """Name the traces of a notebook's results, if it takes traces at all."""
    known = (*SYNTHETIC, *FETCHED)
    return [t for t in known if notebook not in OWN_WORKLOADS and any(p.stem.partition("_")[2] == t for p in results)]


def _trace(crate: ROCrate, folder: Path, trace: str) -> ContextEntity:
    if trace in SYNTHETIC:
        of = "papers/ye2022/generator.toml"
        digest = {"sha256": sha256((ROOT / of).read_bytes()).hexdigest()}
        about = f"Synthetic trace, drawn from the published statistics in {of}, whose SHA-256 is given."
    else:
        record = folder / f"made_{trace}.json"
        known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
        digest = {"sha256": known["trace_sha256"]} if known else {}
        source = SOURCES[FETCHED[trace]]
        about = f"{source.title}. Not part of the project: `make data` downloads it. The SHA-256 is that of its jobs."
    return _add(crate, f"#trace-{trace}", "Dataset", trace, description=about, **digest)


def _changed() -> datetime:
    """Return when code or notebooks were last changed, by their author; today where there is no repository."""
    asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%aI", "--", "astraea", "ops", "papers", "notebooks"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        told = ""
    if not told:
        return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return datetime.fromisoformat(told).astimezone(UTC)
