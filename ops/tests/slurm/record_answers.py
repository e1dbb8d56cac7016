"""Record the answers of one version of Slurm about a small busy system, for the tests of the reading.

``SLURM=/opt/slurm-26.05 python ops/tests/slurm/record_answers.py ops/tests/data/live/answers`` writes a folder named as
the version; with ``--parser v0.0.44`` the JSON has the form of the version before. The system has a job of every kind,
and a node that is drained. Only fields of jobs and nodes that are read, or could be, are kept, so that no host and no
path of this machine is in it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from local_slurm import add_options, missing, run, start, stop, until

COLUMNS = (
    "JobID,Account,User,Partition,QOS,Submit,Eligible,Start,End,State,ElapsedRaw,TimelimitRaw,ReqTRES,AllocTRES,"
    "NodeList,Reason"
)
QUEUE = """
account array_job_id array_max_tasks array_task_id array_task_string batch_flag comment dependency eligible_time
end_time features flags gres_detail het_job_id het_job_offset hold job_id job_resources job_state licenses name
node_count nodes partition priority qos requeue restart_cnt scheduled_nodes sluid start_time state_description
state_reason submit_time time_limit tres_alloc_str tres_per_node tres_req_str user_name
""".split()
NODE = "features gres gres_used name nodes partitions reason reservation state state_flags tres tres_used".split()
HISTORY = """
account array constraints flags het job_id name nodes original_sluid partition priority qos restart_cnt sluid state
time tres user
""".split()
CONFIG = """
AccountingStorageEnforce AccountingStorageTRES AccountingStorageType AuthInfo BOOT_TIME ClusterName GresTypes
JobRequeue JobSubmitPlugins KillWait MaxArraySize MinJobAge PreemptMode PreemptType Priority Scheduler SelectType
SLURM_VERSION SlurmctldParameters
""".split()


def batch(*words: str, seconds: int = 600, then: str = "") -> str:
    """Submit a job that sleeps; its id."""
    wrap = f"--wrap=sleep {seconds}{then}"
    return run("sbatch", "--parsable", "-o", "/dev/null", "-D", "/tmp", *words, wrap).strip()


def state_is(state: str, *ids: str) -> None:
    """Wait until the jobs have come to a state."""
    for id in ids:
        until(f"job {id}: {state}", 60, "scontrol", "-o", "show", "job", id, gives=f"JobState={state} ")


def fill() -> None:
    """Submit a job of every kind; twelve GPUs on three nodes."""
    finished = [batch("-A", "vision", "--gres=gpu:1", "-t5", seconds=1), batch("-A", "vision", seconds=1)]
    failed = batch("-A", "speech", "--gres=gpu:1", seconds=1, then="; exit 3")
    batch("-A", "speech", "--gres=gpu:1", seconds=1, then="; exit 9")  # RequeueExitHold
    is_new = "expedite" in run("sbatch", "--help")  # such a job, too, is kept for its user if it fails
    batch("-A", "speech", "--gres=gpu:1", *["--requeue=expedite"] * is_new, seconds=1, then="; exit 3")
    state_is("COMPLETED", *finished)
    state_is("FAILED", failed)
    gang = batch("-A", "vision", "-N2", "-n2", "--gres=gpu:2", "--comment=checkpoint")
    back = batch("-A", "speech", "--gres=gpu:1", "-t30")
    held = batch("-A", "speech", "--gres=gpu:1")
    state_is("RUNNING", gang, back, held)
    never = batch("-A", "speech", "-N3", "-n3", "--gres=gpu:4")
    time.sleep(2)  # runs of no seconds are not compared
    run("scancel", never)
    run("scontrol", "requeue", back)
    run("scontrol", "requeuehold", held)
    until("a job that waits, held", 60, "squeue", "-h", "-j", held, "-o", "%T", gives="PENDING")
    run("salloc", "-A", "vision", "--gres=gpu:1", "--no-shell")
    batch("-A", "vision", "--gres=gpu:1", "--array=0-4%2")
    part = ("-A", "speech", "-n1", "--gres=gpu:1")
    pair = batch(*part, ":", *part)
    state_is("RUNNING", back, pair)
    time.sleep(4)
    run("scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=test")
    batch("-A", "speech", "-N3", "-n3", "--gres=gpu:4", "-p", "gpu,other")
    batch("-A", "vision", "--gres=gpu:1", f"--dependency=afterok:{gang}")
    batch("-A", "vision", "--gres=gpu:1", "--hold", "--no-requeue", "-t1-2")
    batch("-A", "vision", "--gres=gpu:1", "-p", "other", "--begin=now+1hour")


def kept(value: Any) -> Any:
    """A value without the cores of sockets, one entry for each of which would fill the file."""
    if isinstance(value, dict):
        return {key: kept(v) for key, v in value.items() if key != "sockets"}
    return [kept(v) for v in value] if isinstance(value, list) else value


def answer(name: str, fields: list[str], *command: str) -> dict[str, Any]:
    """The JSON that a command prints: its version and the list `name`, of which some fields are kept."""
    found = json.loads(run(*command, env={**os.environ, "SLURM_BITSTR_LEN": "0"}))
    return {name: [{key: kept(entry[key]) for key in fields if key in entry} for entry in found[name]]}


def compact(found: dict[str, Any]) -> str:
    """JSON with a line for every entry."""
    return json.dumps(found, separators=(",", ":")).replace("},{", "},\n{") + "\n"


def write(folder: Path, option: str) -> None:
    """Ask all programs, and write their answers."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes = ["scontrol", "show", "nodes", option]
    if subprocess.run(nodes, capture_output=True, check=False).returncode != 0:
        nodes = ["sinfo", option]
    answers = {
        "squeue": answer("jobs", QUEUE, "squeue", option, "--states=all"), "nodes": answer("nodes", NODE, *nodes),
    }  # fmt: skip
    columns = COLUMNS + ",SLUID" * ("SLUID" in run("sacct", "--helpformat").split())
    while True:  # both forms in one second: that is what a job that runs has run for
        time.sleep(1 - time.time() % 1)
        second = int(time.time())
        log = ("sacct", "--allusers", "--duplicates", "--starttime=now-1day")
        text = run(*log, "--allocations", "--parsable2", f"--format={columns}")
        epochs = run(*log, "--allocations", "--parsable2", "--noheader", "--partition=gpu",
                     "--format=JobID,Account,User,QOS,State,Submit,Start,End,ReqTRES,AllocTRES",
                     env={**os.environ, "SLURM_TIME_FORMAT": "%s"})  # fmt: skip
        answers["sacct"] = answer("jobs", HISTORY, *log, option)
        if int(time.time()) == second:
            break
    config = run("scontrol", "show", "config", env={**os.environ, "SLURM_TIME_FORMAT": "%s"})
    texts = {
        "sacct.txt": text, "runs.txt": epochs,
        "config.txt": "".join(line for line in config.splitlines(keepends=True) if line.startswith(tuple(CONFIG))),
        **{f"{name}.json": compact(found) for name, found in answers.items()},
    }  # fmt: skip
    for name, content in texts.items():
        (folder / name).write_text(content)


def main() -> None:
    """Start a Slurm, fill it, and record its answers."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path)
    p.add_argument("--parser", default="", help="data parser; the version's own one if not given")
    add_options(p)
    p.set_defaults(nodes=3, gpus=4, shares="vision=2,speech=1", kill_wait=2)
    a = p.parse_args()
    if absent := missing():
        sys.exit(f"not installed: {', '.join(absent)}")
    at = Path(tempfile.mkdtemp(prefix="slurm-answers-"))
    try:
        start(at, a)
        fill()
        time.sleep(4)  # until slurmdbd has heard of all
        version = ".".join(run("squeue", "--version").split()[-1].split(".")[:2])
        if a.parser:
            write(a.folder / f"{version}-{a.parser}", f"--json={a.parser}")
        else:
            write(a.folder / version, "--json")
    finally:
        subprocess.run(["scancel", "--me"], check=False)
        time.sleep(2 * a.kill_wait)  # until they have ended: a job outlives its slurmd
        stop(at)
        shutil.rmtree(at, ignore_errors=True)


if __name__ == "__main__":
    main()
