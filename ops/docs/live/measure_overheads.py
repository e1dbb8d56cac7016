"""Measure what a lease costs a training script: `python measure_overheads.py --out measured.json train.py`.

The script may be any that trains with `checkpointed`. Several times, it is started, gets the notice, is stopped with
SIGTERM `--notice` seconds later, and is started again. Its saves go to a temporary folder in `--folder`.
All times are wall-clock seconds, from processes that are started and stopped as on a cluster:

    cold_start  from the start of Python to the first step, without the restore, plus the extra time that the first
                step takes
    restore     reading the state
    save        from the end of the step in which the signal came until training continues
    lost        from the last save to the end of the process: work that the next lease repeats, and further saves

`checkpoint_overhead` is the median of `save`; `restart_overhead` is the median of the sum of the other three.
`astraea lease-term --overheads measured.json` simulates with both.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import os
import platform
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from astraea_ops import checkpoint

STEPS = 3
"""Steps of a run before it gets the notice."""

KILL_WAIT = 30.0
"""Time from SIGTERM until a process is killed [s]; Slurm's default."""


def train(log: Path, folder: Path, script: str) -> None:
    """Run a training script in this process, and write its events to `log`, a line of JSON each."""
    real = checkpoint.checkpointed
    with open(log, "a", buffering=1) as file:

        def tell(what: str, **more: object) -> None:
            torch = sys.modules.get("torch")
            if torch is not None and torch.cuda.is_available():
                torch.cuda.synchronize()  # the GPU is behind the program
            file.write(json.dumps({"what": what, "at": time.monotonic(), **more}) + "\n")

        @contextlib.contextmanager
        def checkpointed(*positional: Any, **named: Any) -> Iterator[checkpoint.Saves]:
            given = inspect.signature(real).bind(*positional, **named).arguments | {"folder": folder}
            if given.get("last_store"):
                sys.exit("last_store: its saves go on beside the training and cannot be measured here")
            given.pop("requeues", None)  # what measures may itself be a job
            tell("enter", device=device(), signal=given.get("signal", "USR1"))
            with real(**given) as saves:
                step = saves.step

                def told() -> None:
                    tell("end")
                    before = newest(folder)
                    try:
                        step()
                    finally:  # it may end the program after the save
                        after = newest(folder)
                        tell("begin", saved=0 if after is None or after == before else after.stat().st_size)

                saves.step = told  # type: ignore[method-assign]
                tell("begin", saved=0)
                yield saves

        checkpoint.checkpointed = checkpointed
        sys.path[0] = str(Path(script).resolve().parent)
        runpy.run_path(script, run_name="__main__")


def newest(folder: Path) -> Path | None:
    """Return the save with the most steps."""
    return max(folder.glob("*.checkpoint"), default=None)


def device() -> str:
    """Name the GPU that the process trains on, or the CPU."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return f"CPU: {line.partition(':')[2].strip()}"
    return f"CPU: {platform.machine()}"


def read(log: Path) -> list[dict[str, Any]]:
    """Return the events so far, of whole lines only."""
    text = log.read_text() if log.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def lease(command: list[str], work: Path, notice: float) -> dict[str, Any]:
    """Start a process, stop it as at the end of a lease, and return its `parts`; `RuntimeError` if it fails."""
    log = work / "log"
    log.unlink(missing_ok=True)
    began = time.monotonic()
    with open(work / "said", "w+b") as said:
        child = subprocess.Popen(
            [sys.executable, __file__, "--child", str(work), *command],
            stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            while sum(event["what"] == "end" for event in read(log)) < STEPS and child.poll() is None:
                time.sleep(0.02)
            told = time.monotonic()
            if child.poll() is None:
                child.send_signal(signal.Signals[f"SIG{read(log)[0]['signal']}"])
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(notice)
            if child.poll() is not None:
                said.seek(0)
                lines = said.read().decode(errors="replace").split("\n")
                last = next((line for line in reversed(lines) if line.strip()), "it said nothing")
                raise RuntimeError(f"{' '.join(command)}: ended by itself ({last.strip()}); expected it to train on")
            os.killpg(child.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(KILL_WAIT)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # with its helpers
            child.wait()
    return parts(read(log), began, told, time.monotonic())


def parts(events: list[dict[str, Any]], began: float, told: float, over: float) -> dict[str, Any]:
    """Split the time of a process by its events, all on one clock [s]; `save` is None if none was in time."""
    enter, *rest = events
    begins = [event for event in rest if event["what"] == "begin"]
    ends = [event["at"] for event in rest if event["what"] == "end"]
    steps = [end - begin["at"] for begin, end in zip(begins, ends, strict=False)]
    saves = [(end, begin) for end, begin in zip(ends, begins[1:], strict=False) if begin["saved"]]
    heard = [begin["at"] - end for end, begin in saves if end >= told]
    usual = median(steps[1:])
    return {
        "cold_start": enter["at"] - began + max(0.0, steps[0] - usual),
        "restore": begins[0]["at"] - enter["at"],
        "save": heard[0] if heard else None,
        "lost": over - (saves[-1][1] if saves else begins[0])["at"] + sum(heard[1:]),
        "step": usual,
        "state_bytes": saves[-1][1]["saved"] if saves else None,
        "device": enter["device"],
    }


def measure(command: list[str], folder: Path, repeats: int, notice: float) -> dict[str, Any]:
    """Measure a training script in `repeats` leases after a first one; `RuntimeError` if this fails."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="overheads-") as name:
        first, *leases = [lease(command, Path(name), notice) for _ in range(repeats + 1)]
    saves = [one["save"] for one in leases if one["save"] is not None]
    if not saves:
        raise RuntimeError(f"{' '.join(command)}: saved nothing within {notice:g} s; expected a longer --notice")
    measured = {part: [one[part] for one in leases] for part in ("cold_start", "restore", "lost", "step")}
    again = [one["cold_start"] + one["restore"] + one["lost"] for one in leases]
    return {
        "checkpoint_overhead": round(median(saves), 3),
        "restart_overhead": round(median(again), 3),
        "script": " ".join([Path(command[0]).name, *command[1:]]),
        "device": first["device"],
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "state_bytes": leases[-1]["state_bytes"] or first["state_bytes"],
        "repeats": repeats,
        "saved_in_time": len(saves),
        "notice": notice,
        "first_cold_start": round(first["cold_start"], 3),
        **{
            part: {"median": round(median(seen), 3), "least": round(min(seen), 3), "most": round(max(seen), 3)}
            for part, seen in {**measured, "save": saves}.items()
        },
    }


def write(path: Path, text: str) -> None:
    """Write a file in one step."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def main() -> None:
    """Read the command line, measure, print the parts, and write them."""
    summary, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(description=summary, epilog=rest, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file")
    parser.add_argument("--repeats", type=int, default=5, help="leases that are measured, default 5")
    parser.add_argument("--notice", type=float, default=5.0, help="`warning` of live.toml, default 5 [s]")
    parser.add_argument("--folder", type=Path, default=Path(), help="where jobs save, default the working folder")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="train.py ...", help="the script, its arguments")
    asked = parser.parse_args()
    try:
        if not asked.command or not Path(asked.command[0]).is_file():
            raise RuntimeError(f"expected a training script, got {' '.join(asked.command) or 'nothing'}")
        if asked.repeats < 1 or not 0 <= asked.notice <= 3600:
            given = f"{asked.repeats} and {asked.notice:g}"
            raise RuntimeError(f"expected --repeats of at least 1 and --notice from 0 to 3600, got {given}")
        for folder in (asked.folder, asked.out.parent):
            if not folder.is_dir():
                raise RuntimeError(f"{folder}: expected a folder that exists")
        found = measure(asked.command, asked.folder, asked.repeats, asked.notice)
        write(asked.out, json.dumps(found, indent=1) + "\n")
    except (RuntimeError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: interrupted; nothing was written\n")
    for part in ("cold_start", "restore", "save", "lost"):
        print(f"{part:<11}{found[part]['median']:9.3f} s  ({found[part]['least']:g} to {found[part]['most']:g})")
    print(f"checkpoint {found['checkpoint_overhead']:g} s, restart {found['restart_overhead']:g} s: {asked.out}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        work, sys.argv = Path(sys.argv[2]), sys.argv[3:]
        train(work / "log", work / "saves", sys.argv[0])
    else:
        main()
