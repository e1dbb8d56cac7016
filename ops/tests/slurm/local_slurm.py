"""A real Slurm on one machine, with pretended GPUs and accounting, to try things on.

``python ops/tests/slurm/local_slurm.py up FOLDER --nodes 4 --gpus 8 --shares vision=2,speech=1`` starts it, and prints
the variables by which squeue, sbatch and the others find it; ``down FOLDER`` stops it. Run it as root, with slurmctld,
slurmd, slurmdbd, munged and mariadbd installed (Debian: slurm-wlm, slurmdbd, munge, mariadb-server).
``SLURM=/opt/slurm-26.05`` in the environment takes the programs of that build instead of those on `PATH`.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from slurm_texts import HOLD, SLURM, SLURMDBD

if "SLURM" in os.environ:  # of everything that is started from here, too
    if not Path(os.environ["SLURM"], "sbin", "slurmctld").exists():  # otherwise that of PATH would be taken for it
        raise SystemExit(f"SLURM={os.environ['SLURM']}: there is no sbin/slurmctld in that folder")
    os.environ["PATH"] = "{0}/bin:{0}/sbin:{1}".format(os.environ["SLURM"], os.environ["PATH"])

PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "munged", "mariadbd", "mariadb", "mariadb-install-db", "sbatch", "sacct")


def run(*command: str | Path, **options: object) -> str:
    """Return the output of a command; its error ends the program."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise SystemExit(f"{command[0]}: {(done.stderr or done.stdout).strip()}")
    return str(done.stdout)


def until(what: str, seconds: float, *command: str, gives: str = "") -> None:
    """Wait until a command succeeds with the expected output, on a busy machine three times as long."""
    end = time.monotonic() + 3 * seconds
    while time.monotonic() < end:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 and gives in done.stdout:
            return
        time.sleep(0.5)
    raise SystemExit(f"{what} did not start within {seconds:g} s")


def free_ports(nodes: int) -> int:
    """The first of a hundred ports that nobody uses; they are this process's as long as it runs."""
    taken = os.open(Path(tempfile.gettempdir(), "local_slurm.ports"), os.O_RDWR | os.O_CREAT)  # its locks say whose
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    for k in range(12):  # runs that start at the same time begin to look at different ones
        first = 20_000 + 1000 * ((os.getpid() + k) % 12) + 100 * worker
        with suppress(OSError):
            fcntl.lockf(taken, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, first)  # what is about to start listens on no port yet
            for port in (*range(first, first + 3), *range(first + 11, first + 11 + nodes)):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port))
            return first
    raise AssertionError("no free ports")


def missing() -> list[str]:
    """Needed programs that the machine does not have."""
    return [p for p in PROGRAMS if shutil.which(p) is None]


def version() -> str:
    """The version of the Slurm that is started, such as ``slurm 26.05.3``; empty if there is none."""
    return run("slurmctld", "-V").strip() if shutil.which("slurmctld") else ""


def add_options(p: argparse.ArgumentParser) -> None:
    """Properties of the Slurm."""
    p.add_argument("--nodes", type=int, default=4)
    p.add_argument("--gpus", type=int, default=8, help="of each node")
    p.add_argument("--node-class", action="append", default=[], metavar="COUNT:GPUS[:TYPE[:FEATURES]]",
                   help="instead of --nodes and --gpus; --gpus is of the largest")
    p.add_argument("--shares", default="vision=2,speech=1,nlp=1", help="account=share,... or parent/account=share")
    p.add_argument("--users", default="root", help="of every account without children")
    p.add_argument("--sacctmgr", action="append", default=[], metavar="WORDS", help="one more call: add, modify")
    p.add_argument("--more", action="append", default=[], metavar="LINE", help="one more line of slurm.conf")
    p.add_argument("--half-life", default="00:10:00", help="PriorityDecayHalfLife")
    p.add_argument("--weights", default="100000,1000,0", help="PriorityWeightFairshare, -Age, -JobSize")
    p.add_argument("--favor-small", default="NO", choices=("NO", "YES"))
    p.add_argument("--backfill", default="yes", choices=("yes", "no"))
    p.add_argument("--scheduler", default="bf_interval=2,sched_interval=2", help="SchedulerParameters")
    p.add_argument("--cred-expire", type=int, default=5, help="[s]")
    p.add_argument("--kill-wait", type=int, default=30, help="[s]")
    p.add_argument("--hold", action="store_true", help="jobs of partition gpu are held when they are submitted")
    p.add_argument("--debug", default="info", help="SlurmctldDebug")
    p.add_argument("--ports", type=int, default=23800, help="the first of 100 free ones")


def pairs(text: str) -> dict[str, float]:
    """``a=1,b=2``."""
    return {k: float(v) for k, v in (item.split("=") for item in text.split(",") if item)}


def leaves(shares: str) -> dict[str, float]:
    """The shares of the accounts without children, by their paths."""
    every = pairs(shares)
    return {path: share for path, share in every.items() if not any(p.startswith(f"{path}/") for p in every)}


def start_munge() -> None:
    """Start the one munged of this machine, with a key, unless it runs; others may be starting it at the same time."""
    with Path(tempfile.gettempdir(), "local_slurm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode == 0:
            return
        key = Path("/etc/munge/munge.key")
        if not key.exists():
            key.write_bytes(os.urandom(1024))
            shutil.chown(key, "munge", "munge")
            key.chmod(0o400)
        Path("/run/munge").mkdir(exist_ok=True)
        shutil.chown("/run/munge", "munge", "munge")
        run("su", "-s", "/bin/sh", "munge", "-c", shutil.which("munged") or "munged")
        until("munged", 60, "munge", "-n")


def node_lines(a: argparse.Namespace, host: str) -> tuple[list[str], list[str], int]:
    """Lines of slurm.conf and of gres.conf, one per node, and the most GPUs of a node."""
    conf, gres, most = [], [], 0
    for kind in a.node_class or [f"{a.nodes}:{a.gpus}"]:
        count, gpus, model, features = [*kind.split(":"), "", ""][:4]
        most = max(most, int(gpus))
        for k in range(len(conf) + 1, len(conf) + 1 + int(count)):
            typed = (f"Gres=gpu:{model}:{gpus}", f"Type={model} ") if model else (f"Gres=gpu:{gpus}", "")
            where = f"NodeName=n{k} NodeAddr=127.0.0.1 NodeHostname={host} Port={a.ports + 10 + k}"
            conf.append(f"{where} CPUs=64 {typed[0]}" + f" Feature={features}" * bool(features))
            gres.append(f"NodeName=n{k} Name=gpu {typed[1]}File={{at}}/gpu/[0-{int(gpus) - 1}]\n")
    return conf, gres, most


def start(at: Path, a: argparse.Namespace) -> None:
    """Start munge, MariaDB, slurmdbd, slurmctld and one slurmd per node; their process ids go into `at`.

    The folder may be one in which it has run before.
    """
    host, port = socket.gethostname().split(".")[0], a.ports
    for folder in ("state", "db", "gpu"):
        (at / folder).mkdir(parents=True, exist_ok=True)
    at.chmod(0o777)
    nodes, gres, most = node_lines(a, host)
    types = sorted({kind.split(":")[2] for kind in a.node_class if kind.count(":") > 1} - {""})
    for i in range(most):
        (at / "gpu" / str(i)).touch()  # Slurm only asks that the file exists
    start_munge()
    shutil.chown(at / "db", "mysql")
    is_new = not (at / "db" / "mysql").exists()
    install = ["mariadb-install-db", "--user=mysql", f"--datadir={at}/db", "--auth-root-authentication-method=normal"]
    if is_new:
        run(*install, env={**os.environ, "TMPDIR": str(at / "db")})  # another one may be made at the same time
    sql = [f"--socket={at}/db.sock"]
    with (at / "db.log").open("w") as log:
        subprocess.run(
            ["setsid", "--fork", "mariadbd", "--no-defaults", "--user=mysql", f"--datadir={at}/db", *sql,
             f"--tmpdir={at}/db", f"--port={port + 1}", "--bind-address=127.0.0.1", f"--pid-file={at}/db.pid"],
            stdout=log, stderr=log, check=True,
        )  # fmt: skip
    until("MariaDB", 60, "mariadb", *sql, "-e", "select 1")
    for where in ("localhost", "127.0.0.1") if is_new else ():
        statement = f"create user log@{where} identified by 'log'; grant all on accounting.* to log@{where}"
        run("mariadb", *sql, "-e", statement)

    weights = dict(zip(("fairshare", "age", "size"), a.weights.split(","), strict=True))
    values = {
        "at": at, "host": host, "ctld": port, "sql": port + 1, "dbd": port + 2, "classes": "\n".join(nodes),
        "tres": ",".join(["gres/gpu", *(f"gres/gpu:{name}" for name in types)]), "half_life": a.half_life,
        "scheduler": "sched/backfill" if a.backfill == "yes" else "sched/builtin", "parameters": a.scheduler,
        "small": a.favor_small, "debug": a.debug, "cred_expire": a.cred_expire, "kill_wait": a.kill_wait,
        "more": "\n".join(["JobSubmitPlugins=lua"] * a.hold + a.more), **weights,
    }  # fmt: skip
    (at / "slurm.conf").write_text(SLURM.format(**values))
    (at / "job_submit.lua").write_text(HOLD)
    (at / "gres.conf").write_text("".join(gres).format(at=at))
    (at / "slurmdbd.conf").write_text(SLURMDBD.format(**values))
    (at / "slurmdbd.conf").chmod(0o600)
    os.environ["SLURM_CONF"] = str(at / "slurm.conf")
    run("slurmdbd", cwd=at)
    until("slurmdbd", 60, "sacctmgr", "-n", "list", "cluster")
    subprocess.run(["sacctmgr", "-i", "-Q", "add", "cluster", "log"], capture_output=True, check=False)
    for path, share in pairs(a.shares).items() if is_new else ():
        above, _, account = path.rpartition("/")
        parent = [f"parent={above.rpartition('/')[2]}"] if above else []
        run("sacctmgr", "-i", "-Q", "add", "account", account, *parent, f"fairshare={share:g}")
        for user in a.users.split(",") if path in leaves(a.shares) else ():
            run("sacctmgr", "-i", "-Q", "add", "user", user, f"account={account}")
    for words in a.sacctmgr if is_new else ():
        if words.startswith("add "):
            run("sacctmgr", "-i", "-Q", *words.split())
    run("slurmctld")
    for k in range(len(nodes)):
        run("slurmd", "-N", f"n{k + 1}")
    until("the nodes", 60, "sinfo", "-h", "-t", "idle", "-o", "nodes:%D", gives=f"nodes:{len(nodes)}\n")
    for words in a.sacctmgr if is_new else ():
        if not words.startswith("add "):  # limits, now that GPUs are known
            run("sacctmgr", "-i", "-Q", *words.split())


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


def main() -> None:
    """Start or stop it."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("up", "down"))
    p.add_argument("folder", type=Path)
    add_options(p)
    a = p.parse_args()
    at = a.folder.resolve()
    if a.what == "down":
        stop(at)
        return
    if absent := missing():
        raise SystemExit(f"not installed: {', '.join(absent)}")
    start(at, a)
    print(f"export SLURM_CONF={at}/slurm.conf")
    if "SLURM" in os.environ:
        print(f"export PATH={os.environ['PATH']}")


if __name__ == "__main__":
    main()
