"""``live.toml``, and the documents as an administrator reads them: commands, configuration, policy, unit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from places import OPS, ROOT
from pretended_slurm import pretend, queue_entry
from processes import run, started

from astraea.cli.main import main
from astraea.core.errors import InputError
from astraea_ops.live.config import Config, read_config

PAGE = (OPS / "docs" / "live" / "coordinator.md").read_text(encoding="utf-8")
UNIT = (OPS / "docs" / "live" / "astraea.service").read_text(encoding="utf-8")
sys.path.append(str(OPS / "tests" / "slurm"))


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S)


GOOD = 'partition = "gpu"\nstate = "state.sqlite"\n'


def read(folder: Path, text: str) -> Config:
    (folder / "live.toml").write_text(text)
    return read_config(folder / "live.toml")


def test_every_key_is_read(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        GOOD + 'policy = "tiresias-l"\ninterval = 2\nwarning = 1.5\nsignal = "USR2"\ntenant = "user"\nhistory = 0\n'
        "patience = 3\n[parameters]\nlease_term = 60\nqueues = 3\n[weights]\nvision = 2\nspeech = 1\n",
    )
    assert config.policy.parameters["queues"] == 3
    assert config.partition == "gpu"
    assert read(tmp_path, GOOD.replace('"gpu"', '["gpu", "h100", "gpu"]')).partition == "gpu,h100"
    assert config.weights == {"vision": 2, "speech": 1}
    assert config.signal == "USR2"
    assert (config.interval, config.warning, config.tenant, config.history, config.patience) == (2, 1.5, "user", 0, 3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("partition", "is not valid TOML"),
        ('partition = "gpu"', "state must be the name of a file, got None"),
        ('state = "s"', "partition must be a name or a list of names, got None"),
        ('partition = "a b"\nstate = "s"', "partition must be a name or a list of names, got 'a b'"),
        ('partition = ["a", "b,c"]\nstate = "s"', "partition must be a name or a list of names, got ['a', 'b,c']"),
        ('partition = []\nstate = "s"', "partition must be a name or a list of names, got []"),
        (GOOD + "round = 3", "unknown key 'round'; expected one of partition, "),
        (GOOD + "interval = 0", "interval must be a number of at least 1, got 0"),
        (GOOD + 'interval = "2"', "interval must be a number of at least 1, got '2'"),
        (GOOD + "history = 1e9", "history must be a number from 0 to 3650, got 1000000000.0"),
        ('partition = "gpu"\nstate = "."', "state must be a file, got the folder "),
        (GOOD + 'signal = "KILL"', "signal must be one of USR1, USR2, HUP, URG, got 'KILL'"),
        (GOOD + 'tenant = "group"', "tenant must be one of"),
        (GOOD + 'policy = "none"', "policy must be one of"),
        (GOOD + 'policy = "none.py:mine"', "there is no file"),
        (GOOD + 'policy = "own.py:other"', "own.py has no policy other"),
        (GOOD + "[parameters]\nlease = 3", "unknown parameter 'lease'"),
        (GOOD + "[parameters]\nlease_term = 10", "lease_term must be longer than a round"),
        (GOOD + "[weights]\na = 0", "weights.a must be a number above 0, got 0"),
        (GOOD + "weights = 3", "weights must be a table, got 3"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "own.py").write_text("other = 3\n")
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert sentence in str(error.value)
    assert str(tmp_path / "live.toml") in str(error.value)


def test_the_configuration_can_be_read_and_every_key_is_explained(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    config = read(tmp_path, text)
    assert (config.policy.lease_term, config.weights["vision"]) == (1800, 2)
    rows = {keys.strip("`[]"): default for keys, default in re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", PAGE, re.M)}
    assert {field.name for field in fields(Config)} | {"parameters"} <= rows.keys()
    for name in ("interval", "warning", "tenant", "history", "patience"):
        default = Config.__dataclass_fields__[name].default
        assert rows[name].strip("`") == (default if isinstance(default, str) else f"{default:g}")
    assert read_config(OPS / "docs" / "live" / "live.toml").policy.lease_term == 30


def test_the_policy_of_ones_own_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = blocks("python")
    (tmp_path / "least_time.py").write_text(code)
    (tmp_path / "live.toml").write_text(
        'partition = "gpu"\nstate = "leases.sqlite"\nhistory = 0\npolicy = "least_time.py:least_time"\n'
    )
    assert 'policy = "least_time.py:least_time"' in PAGE
    jobs = [queue_entry(1, gpus=8), queue_entry(2, gpus=16, node_count=2), queue_entry(3, account="nlp", gpus=4)]
    pretend(tmp_path / "bin", jobs)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    assert main(["live", "--config", str(tmp_path / "live.toml"), "--dry-run"]) == 0
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == [
        "release job 1 of vision", "release job 3 of nlp",
    ]  # fmt: skip


def test_the_script_that_holds_jobs_is_the_one_that_is_tried() -> None:
    from local_slurm import HOLD

    assert blocks("lua") == [HOLD]


def test_a_prefix_without_a_slurm_is_refused(tmp_path: Path) -> None:
    script = OPS / "tests" / "slurm" / "local_slurm.py"
    done = run(sys.executable, script, "up", tmp_path / "s", env={"SLURM": str(tmp_path)}, check=False)
    assert (done.returncode, done.stderr) == (1, f"SLURM={tmp_path}: there is no sbin/slurmctld in that folder\n")


def test_slurms_that_start_at_the_same_time_have_other_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    import local_slurm

    code = "import os, local_slurm; os.getpid = lambda: 0; print(local_slurm.free_ports(2), flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started(sys.executable, "-c", code, env={"PYTHONPATH": str(OPS / "tests" / "slurm")}, **pipes) as other:
        assert other.stdout is not None
        theirs = int(other.stdout.readline())
        monkeypatch.setattr(os, "getpid", lambda: 0)
        assert theirs != local_slurm.free_ports(2)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    own = re.sub("=/opt/astraea/venv/bin/astraea", f"={sys.executable}", UNIT)
    own = re.sub(r"^(User|Group)=astraea", r"\1=daemon", own, flags=re.M)
    assert own.count("=daemon") == 2 and sys.executable in own
    (tmp_path / "astraea.service").write_text(own)
    done = run("systemd-analyze", "verify", "--man=no", tmp_path / "astraea.service", check=False)
    assert (done.returncode, [x for x in done.stderr.splitlines() if "astraea" in x]) == (0, [])


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that users of the machine may enter, as those of MariaDB and Slurm have to."""
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.slurm
def test_the_five_commands_show_leases_that_are_renewed_and_lost(folder: Path) -> None:
    from local_slurm import free_ports, missing

    if missing() or os.geteuid() != 0:
        pytest.skip("needs a Slurm on this machine, as root")
    shown, end = (text.replace("/tmp/slurm", str(folder / "s")) for text in blocks("sh"))
    assert len(shown.splitlines()) == 5
    (folder / "live.toml").write_text(
        (OPS / "docs" / "live" / "live.toml").read_text().replace("/tmp/slurm", str(folder / "s"))
    )
    text = shown.replace("ops/docs/live/live.toml", str(folder / "live.toml"))
    text = text.replace(" --hold", f" --hold --ports {free_ports(4)}")
    log = folder / "s" / "coordinator.log"
    try:
        done = run("sh", "-c", text + end, cwd=ROOT)  # a script without a terminal
    finally:
        run("bash", "-c", end.splitlines()[-1], cwd=ROOT, check=False)
    assert done.stdout.count("Submitted batch job") == 3
    assert re.search(r"^partition gpu: 32 of 32 GPUs under leases$", done.stdout, re.M), done.stdout
    assert re.search(r"^4 leases, the next to end first$", done.stdout, re.M), done.stdout
    assert re.search(r"^2 waiting jobs, by submission$", done.stdout, re.M), done.stdout
    said = log.read_text()
    assert re.search(r" renew job 3_1 of nlp, 8 GPUs: lease 2; nlp has had \d+% of its fair share", done.stdout), said
    assert re.search(r" requeue job \S+ of (vision|speech), 8 GPUs: lease 1 is over and was not renewed", done.stdout)
    assert "WARNING" not in said and "ERROR" not in said and "stopped; jobs keep their GPUs" in said
