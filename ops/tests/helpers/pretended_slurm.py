"""Programs of Slurm that print what a test says, and record their calls."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NODES = [
    {"name": f"n{k}", "partitions": ["gpu"], "state": "idle", "state_flags": [], "tres": "cpu=64,gres/gpu=8"}
    for k in (1, 2)
]


def queue_entry(id: int, *, account: str = "vision", gpus: int = 1, priority: int = 0, **more: Any) -> dict[str, Any]:
    """A job as ``squeue --json`` of Slurm 22.05 shows it; it waits."""
    came = int(time.time()) - 60
    given = {
        "job_id": id, "array_job_id": 0, "array_task_id": None, "array_task_string": "", "array_max_tasks": 0,
        "partition": "gpu", "account": account, "user_name": "someone", "qos": "normal", "name": "wrap",
        "comment": "", "job_state": "PENDING", "state_reason": "JobHeldUser", "priority": priority,
        "submit_time": came, "eligible_time": came, "start_time": 0, "end_time": 0, "node_count": 1,
        "tres_req_str": f"cpu=1,node=1,gres/gpu={gpus}", "tres_alloc_str": "", "tres_per_node": f"gres:gpu:{gpus}",
        "job_resources": {}, "gres_detail": [], "dependency": "", "requeue": True, "restart_cnt": 0, "het_job_id": 0,
    }  # fmt: skip
    return given | more


def pretend(folder: Path, jobs: Sequence[dict[str, Any]]) -> Path:
    """Put the programs into a folder for PATH; return the file that will list their calls, a line each.

    They answer like Slurm 22.05, in which only sinfo can list nodes for a program.
    """
    folder.mkdir(exist_ok=True)
    said = folder / "said"
    answers = {"squeue": json.dumps({"jobs": list(jobs)}), "sinfo": json.dumps({"nodes": NODES}),
               "scontrol": "BOOT_TIME = 1"}  # fmt: skip
    for name in ("squeue", "sinfo", "sacct", "scontrol", "scancel"):
        (folder / f"{name}.json").write_text(answers.get(name, ""))
        answer = f"cat '{folder / name}.json'" if name in answers else ":"
        if name == "scontrol":
            answer += """; [ "$2" != nodes ] || { echo "unrecognized option '--json'" >&2; exit 1; }"""
        (folder / name).write_text(f'#!/bin/sh\nprintf "%s" "{name}" >> "{said}"\n'
                                   f'for a in "$@"; do printf " %s" "$a" >> "{said}"; done\n'
                                   f'echo >> "{said}"\n{answer}\n')  # fmt: skip
        (folder / name).chmod(0o755)
    return said
