"""`astraea live`: the service, its dry run and its status, with pretended programs of Slurm."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest
from live_cluster import LIVE, SmallSlurm, a_job, play
from places import ROOT
from pretended_slurm import pretend, queue_entry
from processes import ASTRAEA, started, wait_until
from shell import refused

from astraea.cli.main import main


def test_status_once_where_there_is_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path, SmallSlurm(a_job("1", "vision", 8)), 2)
    assert main(["live", "status", "--config", str(tmp_path / "live.toml")]) == 0
    out, err = capsys.readouterr()
    assert "WARNING: no round for" in out and "1 lease, the next to end first" in out and err == ""
    assert main(["live", "--config", str(tmp_path / "live.toml"), "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["leases"][0]["job"] == "1"
    assert main(["live", "status", "--prometheus", "--config", str(tmp_path / "live.toml")]) == 0
    assert 'astraea_leases{partition="gpu"} 1.0\n' in capsys.readouterr().out


def test_bad_input_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "live.toml"
    refused(["live"], capsys, "Missing option '--config'")
    refused(["live", "status"], capsys, "Missing option '--config'")
    refused(["live", "--dry-run", "status", "--config", str(path)], capsys, "--dry-run cannot be combined with a")
    refused(["live", "--config", str(path)], capsys, "live.toml: cannot be read (No such file or directory)")
    refused(["live", "stats", "--config", str(path)], capsys, "No such command 'stats'")
    path.write_text("partition = ")
    refused(["live", "--config", str(path), "--dry-run"], capsys, "live.toml: is not valid TOML")
    path.write_text('partition = "gpu"\nstate = "s"\npolicy = "own.py:mine"\n')
    refused(["live", "status", "--config", str(path)], capsys, "there is no file")
    (tmp_path / "own.py").write_text("def mine(:\n")
    refused(["live", "status", "--config", str(path)], capsys, "own.py cannot be imported (SyntaxError: ")
    path.write_text(LIVE)
    refused(["live", "status", "--config", str(path)], capsys, "there is no state yet")
    both = ["live", "status", "--json", "--prometheus", "--config", str(path)]
    refused(both, capsys, "--json and --prometheus cannot be combined")
    refused(["live", "check"], capsys, "Missing option '--config'")


def test_a_dry_run_says_what_and_why_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = pretend(tmp_path / "bin", [
        queue_entry(7, account="vision", gpus=8), queue_entry(8, account="speech", gpus=6),
        queue_entry(9, account="nobody\x1b[2J", gpus=1), queue_entry(10, account="speech", gpus=4, priority=9),
    ])  # fmt: skip
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    (tmp_path / "live.toml").write_text(LIVE)
    assert main(["live", "--config", str(tmp_path / "live.toml"), "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        r"job 9 is left to Slurm: its tenant 'nobody\x1b[2J' is not in [weights]",
        "job 8 will never run: it asks for 6 GPUs, but its tenant speech has a quota of 4",
        "release job 10 of speech, 4 GPUs: granted lease 1; speech was owed nothing yet, the job was owed nothing yet",
        "release job 7 of vision, 8 GPUs: granted lease 1; vision was owed nothing yet, the job was owed nothing yet",
    ]
    assert {line.split()[0] for line in said.read_text().splitlines()} == {"scontrol", "sinfo", "squeue", "sacct"}
    assert not (tmp_path / "leases.sqlite").exists()
    pretend(tmp_path / "bin", [])
    assert main(["live", "--config", str(tmp_path / "live.toml"), "--dry-run"]) == 0
    assert capsys.readouterr().out == "nothing to do\n"
    (tmp_path / "bin" / "squeue").write_text("#!/bin/sh\necho 'no controller' >&2\nexit 1\n")
    refused(["live", "--config", str(tmp_path / "live.toml"), "--dry-run"], capsys, "squeue --json", ": no controller")


def test_a_check_has_a_line_for_each_thing_and_an_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = pretend(tmp_path / "bin", [])
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    (tmp_path / "live.toml").write_text(LIVE)
    assert main(["live", "check", "--config", str(tmp_path / "live.toml")]) == 1  # nothing is set
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} == {"warning", "missing"}
    assert "missing  GresTypes: not shown; expected gpu: otherwise Slurm does not know about GPUs" in lines
    assert said.read_text().splitlines()[0] == "scontrol show config"
    (tmp_path / "bin" / "scontrol").write_text("#!/bin/sh\necho 'no controller' >&2\nexit 1\n")
    refused(["live", "check", "--config", str(tmp_path / "live.toml")], capsys, "scontrol show config: no controller")


def test_the_service_releases_and_ends_on_sigterm(tmp_path: Path) -> None:
    said = pretend(tmp_path / "bin", [queue_entry(7, account="vision", gpus=8)])
    (tmp_path / "live.toml").write_text(LIVE)
    env = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    command = (*ASTRAEA, "live", "--config", tmp_path / "live.toml")
    with started(*command, cwd=ROOT, env=env, stderr=subprocess.PIPE) as service:
        wait_until(lambda: said.exists() and "scontrol update" in said.read_text(), service)
        service.send_signal(signal.SIGTERM)
        _, log = service.communicate()
    assert service.returncode == 0, log
    assert "INFO release job 7 of vision, 8 GPUs: granted lease 1; vision was owed nothing yet" in log
    assert log.splitlines()[-1].endswith("stopped; jobs keep their GPUs until a coordinator runs again")
    orders = [line for line in said.read_text().splitlines() if line.startswith("scontrol ") and " show " not in line]
    assert orders[:2] == ["scontrol release 7", "scontrol update JobId=7 Priority=4000000000"]


def test_in_a_terminal_it_is_shown_again_until_ctrl_c(tmp_path: Path) -> None:
    play(tmp_path, SmallSlurm(a_job("1", "vision", 8)), 2, LIVE.replace("interval = 10", "interval = 1"))
    ours, theirs = pty.openpty()
    command = (*ASTRAEA, "live", "status", "--config", tmp_path / "live.toml")
    shown = b""
    with open(ours, "rb", buffering=0) as terminal:
        with started(*command, cwd=ROOT, env={"TERM": "xterm"}, stdout=theirs, stderr=theirs) as watch:
            os.close(theirs)
            while shown.count(b"1 lease, the next to end first") < 3:
                shown += terminal.read(1000)
            watch.send_signal(signal.SIGINT)
            assert watch.wait() == 0
    assert shown.count(b"\x1b[2J") >= 3  # the screen is cleared before each
