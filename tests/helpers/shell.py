"""Commands that must fail, and the files that they are given."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from astraea.cli.main import main

HEADER = "job_id,user,num_gpu,submit_time,duration\n"


GOOD = HEADER + "1,a,1,0,100\n2,a,2,5,200\n3,b,1,9,50\n"


HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "7,u,vcA,1,1,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 02:00:00,2020-04-01 01:00:00,60,0\n"
)


PHILLY = [
    {
        "jobid": "app_1", "vc": "v", "user": "u", "status": "Pass", "submitted_time": "2017-10-03 00:00:00",
        "attempts": [
            {
                "start_time": "2017-10-03 02:00:00", "end_time": "2017-10-03 01:00:00",
                "detail": [{"ip": "m1", "gpus": ["gpu0"]}],
            }
        ],
    }
]  # fmt: skip


def write_files(folder: Path) -> None:
    """Write one good trace, and many bad ones."""
    for name, text in {
        "good.csv": GOOD,
        "empty.csv": "",
        "blank.csv": " \n\n",
        "header.csv": HEADER,
        "column.csv": GOOD.replace("num_gpu", "gpus"),
        "twice.csv": GOOD.replace("user", "duration"),
        "zero.csv": HEADER + "1,a,0,0,100\n",
        "huge.csv": HEADER + "1,a,64,0,100\n",
        "shares.csv": "name,share\na,1\n",
        "negative-share.csv": "name,share\na,1\nb,-2\n",
        "text-share.csv": "name,share\na,1\nb,much\n",
        "nan-share.csv": "name,share\na,1\nb,nan\n",
        "double-share.csv": "name,share\na,1\nb,2\na,3\n",
        "wide-share.csv": "name,share,x\na,1,1\nb,2,1\n",
        "cluster_log.csv": HELIOS,
        "cluster_gpu_number.csv": "date,vcA,total\n2020-04-01,8,8\n",
        "cluster_job_log": json.dumps(PHILLY),
        "list.json": "[{]",
        "file": "x",
    }.items():
        (folder / name).write_text(text)
    (folder / "packed.csv.gz").write_bytes(gzip.compress(GOOD.encode())[:-9])
    (folder / "binary.csv").write_bytes(b"job_id\xff\xfe\x00")
    (folder / "folder").mkdir()


def refused(argv: list[str], capsys: pytest.CaptureFixture[str], *says: str, code: int = 2) -> str:
    """Run a command that must fail with one sentence that says this."""
    assert main(argv) == code
    out, err = capsys.readouterr()
    err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("simulating: "))
    assert err.startswith("astraea: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    assert out == ""
    for words in says:
        assert words in err, err
    return err


def clean(folder: Path) -> None:
    """Nothing new stands there, not even something hidden."""
    assert not (folder / "out").exists()
    assert not list(folder.glob(".astraea-*"))
    assert not list(folder.rglob(".*.zip.*"))


RUN = ["--nodes", "1", "--gpus-per-node", "8"]


S = ["--time-unit", "s"]
