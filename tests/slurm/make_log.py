"""A log of a real Slurm on one machine, to hold the policy `slurm` against.

``python tests/slurm/make_log.py LOG --nodes 4 --gpus 8 --shares vision=2,speech=1 ...`` starts a Slurm with pretended
GPUs in a folder of its own, submits jobs that sleep, waits until all have ended, writes what `sacct` knows
of them to LOG, and stops what it started. As root, with slurmctld, slurmd, slurmdbd, munged and mariadbd installed
(Debian: slurm-wlm, slurmdbd, munge, mariadb-server).
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "munged", "mariadbd", "mariadb", "mariadb-install-db", "sbatch", "sacct")

COLUMNS = (
    "JobID,JobName,Account,User,Partition,Submit,Eligible,Start,End,State,ExitCode,ElapsedRaw,TimelimitRaw,NNodes,"
    "ReqTRES,AllocTRES,Priority,NodeList"
)

SLURMDBD = """\
AuthType=auth/munge
DbdHost=localhost
DbdPort={dbd}
SlurmUser=root
LogFile={at}/slurmdbd.log
PidFile={at}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql}
StorageUser=log
StoragePass=log
StorageLoc=accounting
"""

SLURM = """\
ClusterName=log
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ctld}
SlurmctldPidFile={at}/slurmctld.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmctldDebug={debug}
SlurmdPidFile={at}/%n.pid
SlurmdLogFile={at}/%n.log
SlurmdSpoolDir={at}/spool-%n
StateSaveLocation={at}/state
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SlurmdParameters=config_overrides
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType={scheduler}
SchedulerParameters={parameters}
PriorityType=priority/multifactor
PriorityDecayHalfLife={half_life}
PriorityCalcPeriod=1
PriorityWeightFairshare={fairshare}
PriorityWeightAge={age}
PriorityWeightJobSize={size}
PriorityFavorSmall={small}
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={dbd}
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits
NodeName=n[1-{nodes}] NodeAddr=127.0.0.1 NodeHostname={host} Port={first}-{last} CPUs=64 Gres=gpu:{gpus}
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP TRESBillingWeights="CPU=0.0,GRES/gpu=1.0"
"""


def run(*command: str | Path, **options: object) -> str:
    """What a command prints; its error ends the program."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise SystemExit(f"{command[0]}: {(done.stderr or done.stdout).strip()}")
    return str(done.stdout)


def until(what: str, seconds: float, *command: str, gives: str = "") -> None:
    """Wait until a command succeeds and prints what it should."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 and gives in done.stdout:
            return
        time.sleep(0.5)
    raise SystemExit(f"{what} did not start within {seconds:g} s")


def missing() -> list[str]:
    """The programs that this needs and the machine does not have."""
    return [p for p in PROGRAMS if shutil.which(p) is None]


def arguments() -> argparse.Namespace:
    """The log that is wanted."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("log", type=Path)
    p.add_argument("--nodes", type=int, default=4)
    p.add_argument("--gpus", type=int, default=8, help="of each node")
    p.add_argument("--shares", default="vision=2,speech=1,nlp=1", help="account=share,...")
    p.add_argument("--load", default="", help="account=part of the jobs,...; as the shares by default")
    p.add_argument("--limits", default="", help="account=GPUs,...: GrpTRES=gres/gpu")
    p.add_argument("--half-life", default="00:10:00", help="PriorityDecayHalfLife")
    p.add_argument("--weights", default="100000,1000,0", help="PriorityWeightFairshare, -Age, -JobSize")
    p.add_argument("--favor-small", default="NO", choices=("NO", "YES"))
    p.add_argument("--backfill", default="yes", choices=("yes", "no"))
    p.add_argument("--scheduler", default="bf_interval=2,sched_interval=2", help="SchedulerParameters")
    p.add_argument("--jobs", type=int, default=120)
    p.add_argument("--seconds", type=float, default=180, help="over which the jobs are submitted")
    p.add_argument("--sizes", default="1,1,1,1,2,2,4,4,8,8,16", help="GPUs, drawn from these")
    p.add_argument("--duration", default="12,1.0", help="median of a job [s], sigma of its logarithm")
    p.add_argument("--time-limits", default="2", help="minutes, drawn from these among those that are long enough")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--folder", type=Path, help="keep the files of Slurm there")
    p.add_argument("--debug", default="info", help="SlurmctldDebug")
    p.add_argument("--ports", type=int, default=23800, help="the first of 100 free ones")
    return p.parse_args()


def pairs(text: str) -> dict[str, float]:
    """``a=1,b=2``."""
    return {k: float(v) for k, v in (item.split("=") for item in text.split(",") if item)}


def start(at: Path, a: argparse.Namespace) -> None:
    """Start munge, MariaDB, slurmdbd, slurmctld and one slurmd per node; their process ids go into `at`."""
    host, port = socket.gethostname().split(".")[0], a.ports
    for folder in ("state", "db", "gpu"):
        (at / folder).mkdir(parents=True)
    at.chmod(0o777)
    for i in range(a.gpus):
        (at / "gpu" / str(i)).touch()  # Slurm only asks that the file exists
    key = Path("/etc/munge/munge.key")
    if not key.exists():
        key.write_bytes(os.urandom(1024))
        shutil.chown(key, "munge", "munge")
        key.chmod(0o400)
    if subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode != 0:
        Path("/run/munge").mkdir(exist_ok=True)
        shutil.chown("/run/munge", "munge", "munge")
        run("su", "-s", "/bin/sh", "munge", "-c", shutil.which("munged") or "munged")
    shutil.chown(at / "db", "mysql")
    install = ["mariadb-install-db", "--user=mysql", f"--datadir={at}/db", "--auth-root-authentication-method=normal"]
    run(*install)
    sql = [f"--socket={at}/db.sock"]
    with (at / "db.log").open("w") as log:
        subprocess.Popen(
            ["setsid", "--fork", "mariadbd", "--no-defaults", "--user=mysql", f"--datadir={at}/db", *sql,
             f"--port={port + 1}", "--bind-address=127.0.0.1", f"--pid-file={at}/db.pid"], stdout=log, stderr=log,
        )  # fmt: skip
    until("MariaDB", 60, "mariadb", *sql, "-e", "select 1")
    for where in ("localhost", "127.0.0.1"):
        statement = f"create user log@{where} identified by 'log'; grant all on accounting.* to log@{where}"
        run("mariadb", *sql, "-e", statement)

    weights = dict(zip(("fairshare", "age", "size"), a.weights.split(","), strict=True))
    values = {
        "at": at, "host": host, "ctld": port, "sql": port + 1, "dbd": port + 2, "first": f"[{port + 11}",
        "last": f"{port + 10 + a.nodes}]", "nodes": a.nodes, "gpus": a.gpus, "half_life": a.half_life,
        "scheduler": "sched/backfill" if a.backfill == "yes" else "sched/builtin", "parameters": a.scheduler,
        "small": a.favor_small, "debug": a.debug, **weights,
    }  # fmt: skip
    (at / "slurm.conf").write_text(SLURM.format(**values))
    (at / "gres.conf").write_text(f"Name=gpu File={at}/gpu/[0-{a.gpus - 1}]\n")
    (at / "slurmdbd.conf").write_text(SLURMDBD.format(**values))
    (at / "slurmdbd.conf").chmod(0o600)
    os.environ["SLURM_CONF"] = str(at / "slurm.conf")
    run("slurmdbd", cwd=at)
    until("slurmdbd", 60, "sacctmgr", "-n", "list", "cluster")
    subprocess.run(["sacctmgr", "-i", "-Q", "add", "cluster", "log"], capture_output=True, check=False)
    limits = pairs(a.limits)
    for account, share in pairs(a.shares).items():
        limit = [f"GrpTRES=gres/gpu={limits[account]:g}"] if account in limits else []
        run("sacctmgr", "-i", "-Q", "add", "account", account, f"fairshare={share:g}", *limit)
        run("sacctmgr", "-i", "-Q", "add", "user", "root", f"account={account}")
    run("slurmctld")
    for k in range(a.nodes):
        run("slurmd", "-N", f"n{k + 1}")
    until("the nodes", 60, "sinfo", "-h", "-t", "idle", "-o", "nodes:%D", gives=f"nodes:{a.nodes}\n")


def stop(at: Path) -> None:
    """Stop what `start` started, by the process ids in `at`."""
    for name in ("n*.pid", "slurmctld.pid", "slurmdbd.pid", "db.pid"):
        for file in list(at.glob(name)):
            try:
                process = int(file.read_text())
                os.kill(process, signal.SIGTERM)
                for _ in range(100):
                    os.kill(process, 0)
                    time.sleep(0.1)
            except (FileNotFoundError, ProcessLookupError, ValueError):
                pass


def submit(a: argparse.Namespace) -> None:
    """Submit the jobs, at random times and of random sizes, durations and limits that the seed decides."""
    rng = np.random.default_rng(a.seed)
    shares = pairs(a.load or a.shares)
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
        time.sleep(max(0.0, began + at[k] - time.monotonic()))
        run(
            "sbatch", "-A", account, "-N", str(nodes), "--ntasks-per-node=1", "--mem=0",
            f"--gres=gpu:{demand // nodes}", "-t", str(limit),
            "-o", "/dev/null", "-D", "/tmp", "--wrap", f"sleep {seconds:.2f}",
        )  # fmt: skip


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
        a.log.write_text(run("sacct", "-a", "-X", "-P", "-S", "now-1day", f"--format={COLUMNS}"))
    finally:
        stop(at)
        if a.folder is None:
            shutil.rmtree(at, ignore_errors=True)


if __name__ == "__main__":
    main()
