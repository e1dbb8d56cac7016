"""Bad input: one sentence with the file, the line, the column, the value and what is expected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from refused_files import GPUS, TIME, TINY, refused
from trace_samples import GAVEL7, HELIOS, SIZES, TIRESIAS


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("1,2,3,6", "1,8x,3,6", f'line 3: {GPUS} "8x"'),
        ("1,2,3,6", "1,,3,6", f'line 3: {GPUS} ""'),
        ("1,2,3,6", "1,nan,3,6", f'line 3: {GPUS} "nan"'),
        ("1,2,3,6", "1,-2,3,6", f'line 3: {GPUS} "-2"'),
        ("1,2,3,6", "1,2.5,3,6", f'line 3: {GPUS} "2.5"'),
        ("1,2,3,6", "1,1_0,3,6", f'line 3: {GPUS} "1_0"'),
        ("1,2,3,6", "1,0x10,3,6", f'line 3: {GPUS} "0x10"'),
        ("1,2,3,6", "1,1e300,3,6", f'line 3: {GPUS} "1e300"'),
        ("1,2,3,6", "1,2000000,3,6", f'line 3: {GPUS} "2000000"'),
        ("1,2,3,6", "1,inf,3,6", f'line 3: {GPUS} "inf"'),
        ("1,2,3,6", "1,2,soon,6", f'line 3: submit_time {TIME} "soon"'),
        ("1,2,3,6", "1,2,-3,6", f'line 3: submit_time {TIME} "-3"'),
        ("1,2,3,6", "1,2,1e12,6", f'line 3: submit_time {TIME} "1e12"'),
        ("1,2,3,6", "1,2,NaN,6", f'line 3: submit_time {TIME} "NaN"'),
        ("1,2,3,6", "1,2,3,long", f'line 3: duration {TIME} "long"'),
        ("1,2,3,6", "1,2,3,-6", f'line 3: duration {TIME} "-6"'),
        ("1,2,3,6", "1,2,3,1e400", f'line 3: duration {TIME} "1e400"'),
        ("1,2,3,6", "1,2,3,", f'line 3: duration {TIME} ""'),
        ("1,2,3,6", "0,2,3,6", 'line 3: job_id must be unique, got "0"'),
        ("1,2,3,6", ",2,3,6", 'line 3: job_id must be a name, got ""'),
        ("1,2,3,6", "1,2,3", "line 3: expected 4 columns, got 3"),
        ("1,2,3,6", "1,2,3,6,7", "line 3: expected 4 columns, got 5"),
        ("1,2,3,6", '1,2,3,"6', "line 3: not a table (unexpected end of data)"),
        ("num_gpu", "gpus", "line 1: column 'num_gpu' is missing; found job_id, gpus, submit_time, duration"),
        ("duration", "job_id", "line 1: column 'job_id' is there twice"),
        ("0,1,0,5\n1,2,3,6\n", "", "there is no job in it"),
        ("0,1,0,5\n1,2,3,6\n", "0,0,0,5\n", "none of the 1 rows is a job that can be simulated (1 asks for 0 GPUs)"),
    ],
)
def test_tiresias(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(TINY.replace(old, new))
    message = refused(path, format="tiresias-csv", time_unit="s")
    assert says in message
    assert "log" in message


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("user", "", 'line 2: user must be a name, got ""'),
        ("weight", "0", 'line 2: weight must be a number above 0, got "0"'),
        ("sensitivity", "2", 'line 2: sensitivity must be a speed above 0 and at most 1, got "2"'),
        ("state", "lost", 'line 2: state must be one of completed, cancelled, failed, unknown, got "lost"'),
        ("queueing_delay", "-1", f'line 2: queueing_delay {TIME} "-1"'),
        ("deadline", "later", 'line 2: deadline must be a number of at most 1e+10 s, or nothing, got "later"'),
        ("time_limit", "0", 'line 2: time_limit must be a time above 0 and at most 1e+10 s, or nothing, got "0"'),
        ("expect_time", "x", 'line 2: expect_time must be a number of at most 1e+10 s, or nothing, got "x"'),
        (
            "expect_time_list",
            "a-b",
            'line 2: expect_time_list must be a number of at most 1e+10 s, or nothing, got "a"',
        ),
        ("best_effort", "2", 'line 2: best_effort must be 0 or 1, got "2"'),
    ],
)
def test_tiresias_optional_columns(tmp_path: Path, column: str, value: str, says: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"job_id,num_gpu,submit_time,duration,{column}\n0,1,0,5,{value}\n")
    assert refused(path, format="tiresias-csv", time_unit="s") == f"{path}, {says}"


def test_more_offences_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(TINY + "2,x,3,6\n3,y,3,6\n4,z,3,6\n")
    assert refused(path, time_unit="s").endswith("line 4: " + GPUS + ' "x" (and 2 more like it)')


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (",8,16,1,COMP", ",8x,16,1,COMP", 'line 2: gpu_num must be a whole number of GPUs from 0 to 1000000, got "8x"'),
        ("COMPLETED,2020-04-01 00:00:10", "DONE,2020-04-01 00:00:10", "line 2: state must be one of COMPLETED"),
        (
            "COMPLETED,2020-04-01 00:00:10",
            "COMPLETED,1.4.2020",
            "line 2: submit_time must be a time YYYY-MM-DD HH:MM:SS",
        ),
        ("COMPLETED,2020-04-01 00:00:10", "COMPLETED,", "line 2: submit_time must be a time YYYY-MM-DD HH:MM:SS, got"),
        ("2020-04-01 01:01:10", "2020-04-01 00:01:09", "line 2: end_time must be no earlier than start_time, got"),
        ("2020-04-01 01:01:10", "2020-13-01 00:01:09", "line 2: end_time must be a time YYYY-MM-DD HH:MM:SS, got"),
        ("3600,60", "-1,60", f'line 2: duration {TIME} "-1"'),
        ("3600,60", "3600,-60", f'line 2: queue {TIME} "-60"'),
        ("\n9,ub", "\n7,ub", 'line 4: job_id must be unique, got "7"'),
        ("7,ua,vcA", "7,,vcA", 'line 2: user must be a name, got ""'),
        ("7,ua,vcA", "7,ua,", 'line 2: vc must be a name, got ""'),
        (",queue\n", ",wait\n", "line 1: column 'queue' is missing"),
    ],
)
def test_helios(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in HELIOS
    (tmp_path / "cluster_log.csv").write_text(HELIOS.replace(old, new))
    (tmp_path / "cluster_gpu_number.csv").write_text(SIZES)
    message = refused(tmp_path, format="helios")
    assert message.startswith(str(tmp_path / "cluster_log.csv"))
    assert says in message


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("72", "many", 'line 2: vcA must be a whole number of GPUs from 0 to 1000000, got "many"'),
        ("2020-09-02", "yesterday", 'line 2: date must be a date YYYY-MM-DD, got "yesterday"'),
        ("date", "day", "line 1: column 'date' is missing"),
    ],
)
def test_helios_sizes(tmp_path: Path, old: str, new: str, says: str) -> None:
    (tmp_path / "cluster_log.csv").write_text(HELIOS)
    (tmp_path / "cluster_gpu_number.csv").write_text(SIZES.replace(old, new))
    assert f"cluster_gpu_number.csv, {says}" in refused(tmp_path)


def test_helios_of_cpu_jobs_only(tmp_path: Path) -> None:
    lines = HELIOS.splitlines()
    (tmp_path / "cluster_log.csv").write_text("\n".join([lines[0], lines[2]]))
    assert "none of the 1 jobs uses a GPU" in refused(tmp_path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"format": "pbs"}, "format must be one of tiresias-csv, helios, philly, gavel, slurm, swf, got 'pbs'"),
        ({"time_unit": "h"}, "time unit must be one of ms, s, min, got 'h'"),
        ({"format": "gavel", "time_unit": "s"}, "the format gavel has a unit of its own, so no time unit can be given"),
        ({"throughputs": "t.json", "time_unit": "s"}, "only the format gavel needs throughputs, this is tiresias-csv"),
    ],
)
def test_options(tmp_path: Path, options: dict[str, str], says: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TIRESIAS)
    assert says in refused(path, **options)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "there is no such file or folder" in refused(tmp_path / "nothing.csv")
    path = tmp_path / "a.csv"
    for data, says in (
        (b"", "the file is empty"),
        (b"  \n\n", "the file is empty"),
        (b"job_id,\xff\xfe", "not a text file, byte 7 is not UTF-8"),
        (b"\x1f\x8bgarbage", "the gzip file is damaged"),
        (b"hello world", "the format is none that is recognised by its content; give the format, one of tiresias-csv"),
    ):
        path.write_bytes(data)
        message = refused(path)
        assert message.startswith(f"{path}: ")
        assert says in message


def test_never_guessed_between_two(tmp_path: Path) -> None:
    both = tmp_path / "both.csv"
    both.write_text(HELIOS.splitlines()[0] + ",num_gpu\n")
    assert re.search(r"could be tiresias-csv or helios; give the format", refused(both))
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "is none that is recognised" in refused(folder)
    assert "there is no file in this folder whose name ends in .csv or .csv.gz" in refused(
        folder, format="tiresias-csv"
    )
    (folder / "a.csv").write_text(TIRESIAS)
    (folder / "a.trace").write_text(GAVEL7)
    assert "could be tiresias-csv or gavel" in refused(folder)


def test_tenant_column_in_a_folder_of_tenants(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TINY)
    (tmp_path / "b.csv").write_text("job_id,tenant,num_gpu,submit_time,duration\n0,t,1,0,5\n")
    message = refused(tmp_path, time_unit="s")
    assert message.startswith(f"{tmp_path / 'b.csv'}, line 1: the files of a folder are one tenant each")
