"""Logs with odd rows: everything in an audit but its simulations, which see only the checked jobs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from places import OPS

from astraea.cluster.observed import observed, recorded_runs
from astraea.cluster.rules import checked
from astraea.core.errors import InputError
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace
from astraea_ops.audit import causes
from astraea_ops.audit.audit import anonymous, with_those_who_wait
from astraea_ops.audit.recorded import cluster_of, waits, with_gone_nodes
from astraea_ops.audit.replays import plan_of
from astraea_ops.audit.settings import the_settings
from astraea_ops.forecast.moment import queue_of, wish
from astraea_ops.forecast.start import Queue
from astraea_ops.site.site import read_site

DATA = OPS / "tests" / "data" / "slurm"
LOG = DATA / "limits"
FILES = tuple(LOG / name for name in ("slurm.conf", "nodes.txt", "accounts.txt", "qos.txt"))
LINES = (LOG / "sacct.txt").read_text().splitlines()
HEAD = LINES[0].split("|")


def audited(log: Path, files: tuple[Path, ...], anonymize: bool = False) -> tuple[Trace, str]:
    """Do all of an audit and of a forecast that comes before their simulations; return the log and what is said."""
    trace = read_trace(log)
    site, said = with_gone_nodes(known := read_site(files), trace)
    cluster = site.cluster
    if cluster is None:
        cluster, said = cluster_of(trace, None, None)
    own, rules, doubts = plan_of(site, trace, "slurm", {}, cluster)
    the_settings(site, own, doubts, anonymize)
    everyone = with_those_who_wait(trace)
    anonymous(everyone)
    if rules is not None:
        checked(rules, trace, cluster)
    observed(everyone, cluster)
    runs = recorded_runs(everyone)
    causes.beside(causes.causes(everyone, runs, cluster, waits(everyone, runs), rules), everyone)
    job = wish("gpus=2,time=1h")._replace(account=trace.tenants[0])  # which may have a comma
    Queue(queue_of(trace, job, known.cluster or cluster, own, known))
    return trace, " ".join([*said, *doubts])


def row(**changes: str) -> str:
    """A row like that of the first job, but for some fields; times are minutes and seconds after 18:00."""
    fields = dict(zip(HEAD, LINES[1].split("|"), strict=True)) | {"JobID": "99999"} | changes
    for name in ("Submit", "Eligible", "Start", "End"):
        if len(fields[name]) == 5:
            fields[name] = f"2026-11-26T18:{fields[name]}"
    return "|".join(fields.values())


def moments(submit: str, start: str, end: str, **more: str) -> str:
    """A row with these times."""
    return row(Submit=submit, Eligible=submit, Start=start, End=end, **more)


@pytest.mark.parametrize("files", [(), FILES], ids=["log", "settings"])
@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([moments("50:00", "50:00", "50:05", NNodes="16")], "1 job asked for more than the 4 nodes of the cluster"),
        ([row(NNodes="99999999999999999999"), row(JobID="99998", NNodes="inf")], ""),
        ([moments("55:00", "55:00", "55:01", NodeList="old", AllocTRES="gres/gpu=33")], "more than the 32 of the"),
        ([moments("52:00", "52:00", "54:00", State="NODE_FAIL"), moments("53:30", "53:55", "55:00")], ""),
        ([moments("52:00", "50:00", "52:00")], ""),
    ],
    ids=["nodes", "no number", "GPUs", "runs", "early"],
)
def test_no_log_is_refused_for_one_row(rows: list[str], sentence: str, files: tuple[Path, ...], tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("\n".join([*LINES, *rows]) + "\n")
    trace, said = audited(tmp_path / "log.txt", files)
    assert len(trace) + len(trace.excluded_jobs) == len(LINES) - 1 + len(rows)
    if files:
        assert sentence in said


def test_a_cluster_that_was_larger(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("\n".join([*LINES, moments("55:00", "55:00", "56:00", NodeList="old",
                                                               AllocTRES="gres/gpu=41,node=5")]) + "\n")  # fmt: skip
    trace = read_trace(tmp_path / "log.txt")
    site = with_gone_nodes(read_site(FILES), trace)[0]
    assert site.nodes[4].name == "old" and site.cluster is not None and site.cluster.gpus >= 41
    assert site.cluster.node_gpus[:5].tolist() == [8] * 5
    assert site.partitions["gpu"].nodes.all() and not site.nodes[4].features


PIECES = ("", "|", "0", "-1", "99999999999999999999", "inf", "nan", "None", "2026-11-26T18:52:00", "1,2", "n[1-", "é",
          "gres/gpu=9", "RUNNING", "PENDING", "REQUEUED", "NODE_FAIL", "a&(b", "12_3", "12+1", "12.batch")  # fmt: skip


def spoilt(rng: random.Random, lines: list[str]) -> list[str]:
    """Some rows of a log, up to six of them with a field changed, cut, added or lost."""
    rows = sorted(rng.sample(range(1, len(lines)), rng.randint(5, 40)))
    body = [lines[k] for k in rows]
    for _ in range(rng.randint(1, 6)):
        k = rng.randrange(len(body))
        fields = body[k].split("|")
        c = rng.randrange(len(fields))
        what = rng.choice(["piece", "other", "short", "cut", "more"])
        if what == "short":
            fields = fields[: c + 1]
        elif what == "more":
            fields.insert(c, rng.choice(PIECES))
        else:
            other = rng.choice(rng.choice(lines[1:]).split("|"))
            fields[c] = {"piece": rng.choice(PIECES), "other": other, "cut": fields[c][: len(fields[c]) // 2]}[what]
        body[k] = "|".join(fields)
    return [lines[0], *body]


@pytest.mark.parametrize("seed", range(4))
def test_spoilt_logs(seed: int, tmp_path: Path) -> None:
    spoilt_logs(seed, 2, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(100, 150))
def test_spoilt_logs_of_many_clusters(seed: int, tmp_path: Path) -> None:
    spoilt_logs(seed, 40, tmp_path)


def spoilt_logs(seed: int, number: int, folder: Path) -> None:
    """Audit some spoilt logs: no row is lost, and a log is refused only if it has no job at all."""
    rng = random.Random(seed)
    for _ in range(number):
        where = DATA / rng.choice(["limits", "two_kinds", "tree", "mixed"])
        lines = spoilt(rng, (where / "sacct.txt").read_text().splitlines())
        names = ("slurm.conf", "config.txt", "nodes.txt", "partitions.txt", "accounts.txt", "assoc.txt", "qos.txt")
        files = tuple(where / name for name in names if (where / name).exists() and rng.random() < 0.8)
        (folder / "log.txt").write_text("\n".join(lines) + "\n")
        try:
            trace = audited(folder / "log.txt", files, rng.random() < 0.5)[0]
        except InputError as error:
            assert "is a job that can be simulated" in str(error), (seed, error)
        else:
            assert len(trace) + len(trace.excluded_jobs) == sum(bool(line.strip()) for line in lines[1:])
