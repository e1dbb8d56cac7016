"""Run notebooks and store their outputs in them, without what differs from run to run: ``make notebooks``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

WIDGET = "application/vnd.jupyter.widget-view+json"
PROGRESS = ("simulating", "compiling the simulator")


def main(paths: list[str]) -> None:
    """Run each notebook in its folder."""
    for name in paths:
        path = Path(name)
        notebook: Any = nbformat.read(path, as_version=4)
        NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
        notebook.metadata.pop("widgets", None)
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
            if cell.cell_type == "code":
                cell.outputs = [output for output in cell.outputs if not is_progress(output)]
        nbformat.write(notebook, path)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def is_progress(output: Any) -> bool:
    """Return whether an output is a progress bar."""
    if output.output_type == "stream":
        lines = [line for line in output.text.splitlines() if line.strip()]
        return output.name == "stderr" and all(line.startswith(PROGRESS) for line in lines)
    return WIDGET in output.get("data", {})


if __name__ == "__main__":
    main(sys.argv[1:])
