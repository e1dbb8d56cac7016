"""A log of a real Slurm on one machine, to compare with the policy `slurm`.

``python ops/tests/slurm/make_log.py LOG --nodes 4 --gpus 8 --shares vision=2,speech=1 ...`` starts a Slurm with
pretended GPUs in a folder of its own, and submits jobs that sleep. When all have ended, it writes the records of
`sacct` to LOG and the settings of the cluster beside it, and stops what it started. Run it as root, with slurmctld,
slurmd, slurmdbd, munged and mariadbd installed (Debian: slurm-wlm, slurmdbd, munge, mariadb-server).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from local_slurm import add_options, leaves, missing, pairs, run, start, stop

COLUMNS = (
    "JobID,JobName,Account,User,Partition,Submit,Eligible,Start,End,State,ExitCode,ElapsedRaw,TimelimitRaw,NNodes,"
    "ReqTRES,AllocTRES,Priority,NodeList,QOS,Constraints,Reason,Flags"
)

def arguments() -> argparse.Namespace:
    """Settings of the log."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("log", type=Path)
    add_options(p)
    p.add_argument("--load", default="", help="account=part of the jobs,...; as the shares by default")
    p.add_argument("--asks", default="", help="-C fast;--gres=gpu:a100:{each};...: options of sbatch, drawn from these")
    p.add_argument("--jobs", type=int, default=120)
    p.add_argument("--seconds", type=float, default=180, help="over which the jobs are submitted")
    p.add_argument("--sizes", default="1,1,1,1,2,2,4,4,8,8,16", help="GPUs, drawn from these")
    p.add_argument("--duration", default="12,1.0", help="median of a job [s], sigma of its logarithm")
    p.add_argument("--time-limits", default="2", help="minutes, drawn from these among those that are long enough")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--folder", type=Path, help="keep the files of Slurm there")
    return p.parse_args()


def submit(a: argparse.Namespace) -> None:
    """Submit the jobs, at random times and of random sizes, durations and limits that the seed decides."""
    rng = np.random.default_rng(a.seed)
    shares = pairs(a.load) or {path.rpartition("/")[2]: share for path, share in leaves(a.shares).items()}
    accounts, parts = list(shares), np.array(list(shares.values()))
    median, sigma = (float(v) for v in a.duration.split(","))
    minutes = np.array(sorted({int(m) for m in a.time_limits.split(",")}))
    longest = 60.0 * minutes[-1] - 5
    at = np.sort(rng.uniform(0, a.seconds, a.jobs))
    began = time.monotonic()
    for k in range(a.jobs):
        account = rng.choice(accounts, p=parts / parts.sum())
        demand = int(rng.choice([int(s) for s in a.sizes.split(",")]))
        seconds = min(max(2.0, rng.lognormal(np.log(median), sigma)), longest)
        limit = int(rng.choice(minutes[60 * minutes >= seconds + 5]))
        nodes = -(-demand // a.gpus)
        if demand % nodes:
            raise SystemExit(f"{demand} GPUs are not the same number on each of {nodes} nodes")
        user, asks = rng.choice(a.users.split(",")), str(rng.choice(a.asks.split(";"))).format(each=demand // nodes)
        time.sleep(max(0.0, began + at[k] - time.monotonic()))
        run(
            "sbatch", "-A", account, "-N", str(nodes), "--ntasks-per-node=1", "--mem=0",
            f"--gres=gpu:{demand // nodes}", "-t", str(limit), f"--uid={user}", *asks.split(),
            "-o", "/dev/null", "-D", "/tmp", "--wrap", f"sleep {seconds:.2f}",
        )  # fmt: skip


def settings(at: Path) -> dict[str, str]:
    """Return a cluster's own settings by file name, without the name and the paths of this machine."""
    found = {"slurm.conf": (at / "slurm.conf").read_text(), "config.txt": run("scontrol", "show", "config")}
    found |= {f"{name}s.txt": run("scontrol", "show", name) for name in ("node", "partition")}
    found["assoc.txt"] = run("sacctmgr", "show", "assoc", "tree", "-P")
    found["qos.txt"] = run("sacctmgr", "show", "qos", "-P")
    run("sacctmgr", "dump", "log", f"File={at}/accounts.txt")
    found["accounts.txt"] = (at / "accounts.txt").read_text()
    host = socket.gethostname()
    return {k: re.sub(rf"\b{host}\b", "host", v.replace(str(at), "/var/slurm")) for k, v in found.items()}


def main() -> None:
    """Make the log."""
    a = arguments()
    if absent := missing():
        raise SystemExit(f"not installed: {', '.join(absent)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what runs is stopped
    at = (a.folder or Path(tempfile.mkdtemp(prefix="slurm-log-"))).resolve()
    try:
        start(at, a)
        print(f"load when it began: {os.getloadavg()[0]:.1f}", file=sys.stderr)
        submit(a)
        while run("squeue", "-h"):
            time.sleep(2)
        time.sleep(3)  # until slurmdbd has heard of the last end
        print(f"load when it ended: {os.getloadavg()[0]:.1f}", file=sys.stderr)
        for name, text in settings(at).items():
            (a.log.parent / name).write_text(text)
        a.log.write_text(run("sacct", "-a", "-X", "-P", "-S", "now-1day", f"--format={COLUMNS}"))
    finally:
        stop(at)
        if a.folder is None:
            shutil.rmtree(at, ignore_errors=True)


if __name__ == "__main__":
    main()
