"""The same jobs on two real Slurms, one with fair share, one under the coordinator: what notebook 21 compares.

``python ops/tests/slurm/live_experiment.py data/live --seeds 0,1,2,3,4`` starts two Slurms with pretended GPUs for
every seed, in folders of their own. The second one holds jobs at submission and has a coordinator. Both get the same
jobs at the same times. When all have ended, one row per run of a job is written to ``SYSTEM_SEED.csv``. The program
needs what `local_slurm.py` needs, and takes five minutes a seed.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from local_slurm import add_options, missing, run, start, stop

from astraea_ops.live.ledger import open_to_read, read_state
from astraea_ops.live.state import Lease

SYSTEMS = ("slurm", "astraea")
SHARES = {"vision": 2, "speech": 1, "nlp": 1}
INTERVAL, LEASE, WARNING, CRED_EXPIRE = 2, 20, 1, 5
"""Time between rounds, of a lease, from the notice to its end, and in which Slurm does not start a requeued job [s]."""

HALF_LIFE, TIME_LIMIT = 10, 2  # PriorityDecayHalfLife, and of every job [min]
SERVE = (
    "import sys; from pathlib import Path; from astraea_ops.live.config import read_config; "
    "from astraea_ops.live.coordinator import serve; serve(read_config(Path(sys.argv[1])))"
)
SCRIPT = Path(__file__).with_name("counting_job.sh")


def slurm_options(stretch: int) -> list[str]:
    """Settings of both Slurms."""
    hours, minutes = divmod(stretch * HALF_LIFE, 60)
    return (
        f"--shares {','.join(f'{k}={v}' for k, v in SHARES.items())} --half-life {hours:02}:{minutes:02}:00 "
        f"--cred-expire {CRED_EXPIRE} --kill-wait 5 --scheduler bf_interval=2,sched_interval=2,batch_sched_delay=0"
    ).split()


def live_toml(stretch: int) -> str:
    """The configuration of the coordinator."""
    return f"""\
partition = "gpu"
state = "state.sqlite"
policy = "astraea"
interval = {INTERVAL}
warning = {WARNING}
history = 0
weights = {{ {", ".join(f"{k} = {v}" for k, v in SHARES.items())} }}
parameters = {{ lease_term = {stretch * LEASE} }}
"""


class Job(NamedTuple):
    """A job that will be submitted; times in seconds since the beginning."""

    name: str
    tenant: str
    gpus: int
    service: float
    submit: float


def workload(seed: int, jobs: int, seconds: float, stretch: int) -> list[Job]:
    """Random jobs that ask for about as much as the cluster has while they are submitted, all `stretch`ed."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.uniform(0, seconds, jobs))
    tenants = rng.choice(list(SHARES), jobs, p=(0.4, 0.3, 0.3))
    gpus = rng.choice((1, 2, 4, 8), jobs, p=(0.3, 0.25, 0.25, 0.2))
    service = np.clip(rng.lognormal(np.log(25), 0.6, jobs), 10, 90)
    return [
        Job(f"j{k:02d}", str(tenants[k]), int(gpus[k]), stretch * round(float(s), 1), stretch * round(float(t), 2))
        for k, (s, t) in enumerate(zip(service, at, strict=True))
    ]


def measure(system: str, seed: int, a: argparse.Namespace, at: Path, line: Any) -> None:
    """One repetition on one system; the beginning is agreed on over `line`."""
    sys.argv = [sys.argv[0]]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = argparse.ArgumentParser()
    add_options(options)
    ports = a.ports + 100 * SYSTEMS.index(system)
    hold = ["--hold"] if system == "astraea" else []
    at.mkdir(parents=True)
    service: subprocess.Popen[bytes] | None = None
    try:
        start(at, options.parse_args([*slurm_options(a.stretch), *hold, "--ports", str(ports)]))
        state = at / "state.sqlite"
        epoch = 0.0
        if system == "astraea":
            (at / "live.toml").write_text(live_toml(a.stretch))
            with (at / "coordinator.log").open("w") as log:
                service = subprocess.Popen([sys.executable, "-c", SERVE, str(at / "live.toml")], stderr=log)
            epoch = first_rounds(state, service)
        line.send(epoch)
        began = line.recv()
        load, spent = os.getloadavg()[0], cpu(service)
        submitted = {}
        for job in workload(seed, a.jobs, a.seconds, a.stretch):
            time.sleep(max(0.0, began + job.submit - time.time()))
            run(
                "sbatch", "-J", job.name, "-A", job.tenant, "-N1", "--ntasks-per-node=1", "--mem=0",
                f"--gres=gpu:{job.gpus}", "-t", str(TIME_LIMIT * a.stretch), "--requeue", "--comment=checkpoint",
                "-o", "/dev/null", "-D", "/tmp", SCRIPT, at / job.name, str(round(1e6 * job.service)),
            )  # fmt: skip
            submitted[job.name] = time.time() - began
        while run("squeue", "-h"):
            time.sleep(2)
        time.sleep(3)  # until slurmdbd has heard of the last end
        lasted, spent = time.time() - began, cpu(service) - spent
        leases: Sequence[Lease] = ()
        if service is not None:
            service.terminate()
            service.wait(300)  # it ends after its round, in which each of its commands may take `patience`
            with open_to_read(state) as db:
                leases = [Lease(*row) for row in db.execute("select * from lease order by granted, serial")]
        rows = collect(seed, a, at, began, leases, submitted)
        write(a.folder / f"{system}_{seed}.csv", rows)
        booted = run("scontrol", "show", "config", env={**os.environ, "SLURM_TIME_FORMAT": "%s"})
        line.send({
            "seed": seed, "system": system, "stretch": a.stretch, "alone": "," not in a.systems,
            "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)),
            "booted": int(booted.partition("BOOT_TIME")[2].split()[1]) - began, "lasted": round(lasted),
            "load_before": round(load, 1), "load_after": round(os.getloadavg()[0], 1), "cpu": round(spent, 1),
        })  # fmt: skip
    finally:
        if service is not None and service.poll() is None:
            service.kill()
        stop(at)


def cpu(process: subprocess.Popen[bytes] | None) -> float:
    """CPU time of a process and the programs that it started [s]."""
    if process is None:
        return 0.0
    times = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    return sum(int(ticks) for ticks in times) / os.sysconf("SC_CLK_TCK")


def first_rounds(state: Path, service: subprocess.Popen[bytes]) -> float:
    """Wait for some rounds of the coordinator, which compile it; return the time at which its accounts begin."""
    for _ in range(600):
        time.sleep(0.5)
        if service.poll() is not None:
            raise SystemExit("the coordinator ended")
        if state.is_file():
            with open_to_read(state) as db:
                found = read_state(db)
            if found is not None and found.accounts.clock[0].now >= 5 * INTERVAL:
                return found.epoch
    raise SystemExit("the coordinator has no rounds")


def collect(
    seed: int, a: argparse.Namespace, at: Path, began: float, leases: Sequence[Lease], submitted: Mapping[str, float]
) -> list[Mapping[str, object]]:
    """One row per run of a job, in order of their starts; times in seconds since the beginning."""
    fields = "JobID,JobName,Priority,Start,End,State,NodeList"
    text = run(
        "sacct", "-a", "-X", "-P", "-n", "--duplicates", "-S", "now-3hours", f"--format={fields}",
        env={**os.environ, "SLURM_TIME_FORMAT": "%s"},
    )  # fmt: skip
    (at / "sacct.txt").write_text(text)
    slurm: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        entry = line.split("|")
        slurm.setdefault(entry[1], []).append(entry)
    rows: list[Mapping[str, object]] = []
    for job in workload(seed, a.jobs, a.seconds, a.stretch):
        runs = sorted((e for e in slurm[job.name] if e[3].isdecimal()), key=lambda e: int(e[3]))
        own = own_runs(at / f"{job.name}.log", began)
        granted = grants([lease for lease in leases if lease.job == runs[0][0]], began)
        rest = list(zip(runs, own, strict=True))
        for k, grant in enumerate(granted or [{}] * len(rest)):
            begins = rest and float(str(rest[0][1]["start"])) < float(str(grant.get("over", "inf"))) + 1
            e, did = rest.pop(0) if begins else (["", "", 0, "nan", "nan", "", ""], {})  # Slurm had no nodes for it
            rows.append({
                "job": job.name, "tenant": job.tenant, "gpus": job.gpus, "service": job.service,
                "submit": submitted[job.name], "priority": e[2], "run": k + 1, **grant,
                "slurm_start": float(e[3]) - began, "slurm_end": float(e[4]) - began, "node": e[6], **did,
            })  # fmt: skip
        assert not rest, f"{job.name} ran without a grant"
    return rows


def grants(leases: Sequence[Lease], began: float) -> list[dict[str, object]]:
    """The leases of one job; a lease and its renewals are one."""
    found: list[dict[str, object]] = []
    for lease in sorted(leases, key=lambda lease: lease.number):
        if lease.is_renewal:
            found[-1]["renewals"] = int(str(found[-1]["renewals"])) + 1
        else:
            found.append({"granted": lease.granted - began, "renewals": 0})
        found[-1] |= {"over": lease.over - began, "outcome": lease.outcome}
    return found


def own_runs(path: Path, began: float) -> list[dict[str, object]]:
    """Read a job's own record of its runs: start, last save (time and saved seconds), and stop or end of each."""
    found: list[dict[str, object]] = []
    for line in path.read_text().splitlines():
        what, moment, progress = line.split()
        if what == "start":
            found.append({})
        name = "stop" if what == "end" else what
        found[-1][name] = float(moment) - began
        if what == "save":
            found[-1]["saved"] = int(progress) / 1e6
    return found


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write the rows, times to a hundredth of a second."""
    names = [
        "job", "tenant", "gpus", "service", "submit", "priority", "run", "granted", "renewals", "outcome", "over",
        "slurm_start", "slurm_end", "node", "start", "save", "saved", "stop",
    ]  # fmt: skip
    with path.open("w", newline="") as file:
        to = csv.DictWriter(file, names, restval="", lineterminator="\n")
        to.writeheader()
        for row in rows:
            known = {k: v for k, v in row.items() if v == v}  # no NaN
            to.writerow({k: round(v, 2) if isinstance(v, float) else v for k, v in known.items()})


def main() -> None:
    """Run the repetitions, one after the other."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path, help="for the CSV files")
    p.add_argument("--seeds", default="0,1,2,3,4")
    p.add_argument("--systems", default=",".join(SYSTEMS))
    p.add_argument("--jobs", type=int, default=60)
    p.add_argument("--seconds", type=float, default=165, help="over which the jobs are submitted")
    p.add_argument("--stretch", type=int, default=1, help="times as long are jobs, leases and pauses; not the rounds")
    p.add_argument("--ports", type=int, default=31000, help="the first of 200 free ones")
    p.add_argument("--keep", type=Path, help="keep the files of Slurm there")
    a = p.parse_args()
    if absent := missing():
        raise SystemExit(f"not installed: {', '.join(absent)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what runs is stopped
    a.folder = a.folder.resolve()
    a.folder.mkdir(parents=True, exist_ok=True)
    for seed in (int(s) for s in a.seeds.split(",")):
        folder = Path(tempfile.mkdtemp(prefix=f"live-{seed}-", dir=a.keep))
        folder.chmod(0o755)  # MariaDB runs as another user
        try:
            repetition(seed, a, folder)
        finally:
            if a.keep is None:
                shutil.rmtree(folder, ignore_errors=True)


def repetition(seed: int, a: argparse.Namespace, at: Path) -> None:
    """The same jobs on the systems at the same time."""
    processes, lines = [], []
    for system in a.systems.split(","):
        here, there = multiprocessing.Pipe()
        processes.append(multiprocessing.Process(target=measure, args=(system, seed, a, at / system, there)))
        lines.append(here)
        processes[-1].start()
        there.close()
    try:
        epoch = max(line.recv() for line in lines)
        began = epoch + INTERVAL * (int((time.time() - epoch) / INTERVAL) + 3)  # a round
        for line in lines:
            line.send(began)
        notes = [line.recv() for line in lines]
        print(*(json.dumps(note) for note in notes), sep="\n", flush=True)
        path = a.folder / "repetitions.csv"
        is_new = not path.exists()
        with path.open("a", newline="") as file:
            to = csv.DictWriter(file, notes[0], lineterminator="\n")
            if is_new:
                to.writeheader()
            to.writerows(notes)
    finally:
        for process in processes:
            if sys.exc_info()[0] is not None:
                process.terminate()
            process.join()


if __name__ == "__main__":
    main()
