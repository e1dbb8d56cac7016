"""The page, and the command that makes it: whole, safe to open, and honest."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from functools import cache
from html import unescape
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from recorded_logs import recorded
from shell import GOOD, clean, refused
from slurm_logs import HEAD, in_seconds, played, sacct, two_years
from workloads import few

from astraea.cli.main import main
from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace
from astraea_ops.audit.audit import anonymous, audit, with_those_who_wait
from astraea_ops.audit.page import change, short, write
from astraea_ops.audit.pictures import fairness, load
from astraea_ops.audit.sections import cells_of, table_of

TABLES = ("load", "lease_terms", "overview", "owed", "waits", "waits_by_month", "waits_by_size", "waits_by_tenant")
RUN = ["--nodes", "4", "--gpus-per-node", "4", "--scheduler", "fifo", "--what-if", "astraea"]
NAMES = {"t0": "quebec-lab", "t1": "tango<script>alert(1)</script>", "t2": "zulu & $sons$"}


@cache
def log_text() -> str:
    """A log of 40 jobs of three tenants, one of which has a job that is still waiting."""
    w = few()
    trace = in_seconds(w.trace)
    frame = trace.frame.assign(user="maria-" + trace.frame["tenant"], tenant=trace.frame["tenant"].map(NAMES))
    trace = Trace.from_frame(frame)
    text = sacct(trace, played(trace, w.cluster), first=7700001)
    return text + waits_still("7700099", "zulu & $sons$")


def waits_still(id: str, account: str) -> str:
    moment = "2026-03-01T00:30:00"
    tres = "billing=1,cpu=1,gres/gpu=3,node=1"
    return f"{id}|{account}|maria-t9|gpu|normal|{moment}|{moment}|Unknown|Unknown|PENDING|0|UNLIMITED|{tres}|\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a log, and two audits of it."""
    folder = tmp_path_factory.mktemp("audit")
    (folder / "mycluster.txt").write_text(log_text())
    argv = ["audit", str(folder / "mycluster.txt"), *RUN]
    assert main([*argv, "--out", str(folder / "named")]) == 0
    assert main([*argv, "--out", str(folder / "nameless"), "--anonymize"]) == 0
    return folder


def words(page: str) -> str:
    """Text of a page for its reader."""
    return unescape(re.sub(r"(?s)<style.*?</style>|<[^>]*>", " ", re.sub("</?code>", "", page)))


def test_everything_is_there(made: Path) -> None:
    assert {p.name for p in (made / "named").iterdir()} == {
        "index.html", "audit.json", "audit.prom", "excluded.csv", *(f"{name}.csv" for name in TABLES),
    }  # fmt: skip
    told = json.loads((made / "named" / "audit.json").read_text())
    assert set(TABLES) < set(told)
    assert set(told["owed"][0]) == {"period", "tenant", "got", "owed", "rho"}
    assert told["excluded"] == {"still waiting": 1}
    waits = pd.read_csv(made / "named" / "waits.csv").set_index("job_id")
    assert waits.loc[7700099, "still"]
    assert waits.loc[7700099, "why"].startswith("7700099 of zulu & $sons$ (3 GPUs) has waited")


def test_the_page_is_whole_and_says_nothing_by_chance(made: Path) -> None:
    text = (made / "named" / "index.html").read_text()
    opened, closed = (Counter(re.findall(pattern, text)) for pattern in (r"<([a-z]\w*)", r"</(\w+)"))
    assert closed <= opened and set(opened - closed) == {"img", "meta"}
    ids, sources, links, alternatives = (re.findall(rf' {x}="([^"]*)"', text) for x in ("id", "src", "href", "alt"))
    assert len(ids) == len(set(ids))
    # it needs no network
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert not any(word in text for word in ("@import", "http-equiv", "url(", "srcset", "<script"))
    assert "tango&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert len(alternatives) == 4 and all(len(alternative) > 20 for alternative in alternatives)
    said = words(text)
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b|\{|\}|\\mathrm|  \.", said)
    assert not re.search(r"\b1 (jobs|GPUs|nodes|tenants|waits|rows)\b|\b[02-9] (job|GPU|node|tenant|wait)\b", said)
    assert "The shares are equal, because none were given (--weights)." in said
    for title in ("The cluster", "Who got what they were owed", "Who waited, and why", "What if", "Which lease term",
                  "What to change first", "What this cannot know"):  # fmt: skip
        assert title in said


def test_the_same_log_gives_the_same_files(made: Path, tmp_path: Path) -> None:
    assert main(["audit", str(made / "mycluster.txt"), *RUN, "--out", str(tmp_path / "again")]) == 0
    for file in (made / "named").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


@pytest.mark.parametrize(("bad", "part", "asks"), [(1, "2.4", False), (3, "6.8", True)])
def test_rows_that_cannot_be_read_are_counted(bad: int, part: str, asks: bool, tmp_path: Path) -> None:
    row = log_text().splitlines()[1].replace("2026-", "soon-", 1)
    (tmp_path / "log.txt").write_text(log_text() + (row + "\n") * bad)
    assert main(["audit", str(tmp_path / "log.txt"), *RUN, "--out", str(tmp_path / "out")]) == 0
    said = words((tmp_path / "out" / "index.html").read_text())
    rows = "1 row" if bad == 1 else "3 rows"
    assert f"{rows} could not be read, {part} % of all, with " in said
    assert ("Look at excluded.csv before you rely on this page." in said) is asks
    listed = pd.read_csv(tmp_path / "out" / "excluded.csv", dtype=str)
    assert listed["line"].tolist()[-bad:] == [str(43 + k) for k in range(bad)]
    assert listed["detail"].str.contains("soon-").sum() == bad


def test_a_gap_in_a_long_log_has_its_date() -> None:
    day = 86_400
    trace = recorded(f"a1 2 0 0 {5 * day}", f"b1 2 {2 * day} {3 * day} {4 * day}")
    trace = dataclasses.replace(trace, origin=pd.Timestamp("2026-03-01"))
    found = audit(trace, Cluster(1, 4), get_policy("fifo"), ["fifo"])
    gap = next(line for line in short(found, "") if line.startswith("The largest gap"))
    assert gap == "The largest gap: on day 3 (from 2026-03-03), b was owed 48 GPU-hours and got 0."


@pytest.mark.parametrize("days", [0.001, 0.2, 4.9, 40, 250, 1400, 4000])
def test_the_dates_below_a_picture_are_few(days: float) -> None:
    table = pd.DataFrame({"time": np.linspace(0, days * 86_400, 11), "held": 1.0, "wanted": 2.0})
    fig = load(table, 8, pd.Timestamp("2026-11-26 13:17:05"))
    labels = [label.get_text() for label in fig.axes[1].get_xticklabels()]
    plt.close(fig)
    assert 2 <= len(labels) <= 8 and all(labels)


def test_forty_accounts_and_two_years(tmp_path: Path) -> None:
    trace, cluster = two_years(1_500)
    (tmp_path / "log.txt").write_text(sacct(trace, played(trace, cluster)))
    found = audit(read_trace(tmp_path / "log.txt"), cluster, get_policy("fifo"), ["fifo"])
    write(found, "", tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert len(trace.tenants) == 40
    assert "<summary>30 more</summary>" in page and "<td>computational-biology-and-medicine-37</td>" in page
    fig = fairness(found.owed, found.period)
    names = [label.get_text() for label in fig.axes[0].get_yticklabels()]
    plt.close(fig)
    assert len(set(names)) == 40 and max(map(len, names)) <= 20


def test_a_long_table_is_folded() -> None:
    for rows, shown in ((12, 12), (40, 10)):
        part = table_of(pd.DataFrame({"tenant": range(rows)}))
        assert isinstance(part, dict) and (len(part["rows"]), len(part["more"])) == (shown, rows - shown)


def test_nobody_is_named_and_no_number_moves(made: Path) -> None:
    for file in (made / "nameless").iterdir():
        text = file.read_text()
        for name in (*NAMES.values(), "quebec", "tango", "zulu", "maria", "77000", "mycluster"):
            assert name not in text, (file, name)
    for name in TABLES:
        named, nameless = (pd.read_csv(made / folder / f"{name}.csv") for folder in ("named", "nameless"))
        numbers = [column for column in named.select_dtypes("number") if column != "job_id"]
        pd.testing.assert_frame_equal(named[numbers], nameless[numbers])
        if name == "owed":
            letters = dict(zip(NAMES.values(), "ABC", strict=True))
            assert named["tenant"].map(letters).tolist() == nameless["tenant"].tolist()


def test_no_name_is_left_in_details_or_history() -> None:
    trace = recorded("a1 1 0 0 10", "b1 1 5 5 9", "a2 1 20 20 30").window(15, 40)
    whole = recorded("a1 1 0 0 10", "b1 1 5 5 9")
    details = pd.DataFrame({"account": ["a", "secret"], "user": ["a", "b"], "node_list": ["gold[1-2]", "gold2"]})
    found = anonymous(dataclasses.replace(whole, details=details))
    assert found.details is not None
    assert found.details.to_numpy().tolist() == [["A", "user 1", "n1,n2"], ["account 1", "user 2", "n2"]]
    found = anonymous(trace)
    assert found.tenants == ("A", "B") and found.user.tolist() == ["user 1"] and found.history is None
    rows = [{"job_id": k, "tenant": f"x{k:03}", "demand": 1, "submit_time": 0, "duration": 1} for k in range(27)]
    assert anonymous(Trace.from_frame(pd.DataFrame(rows))).tenants[:2] == ("T01", "T02")  # more than letters


def test_a_tenant_whose_jobs_all_wait_is_owed_something() -> None:
    trace = with_those_who_wait(recorded("a1 4 0 0 100", "b1 4 10"))
    assert trace.tenants == ("a", "b")
    found = audit(trace, Cluster(2, 4), get_policy("fifo"), ["fifo"])
    row = found.owed[(found.owed["period"] == 0) & (found.owed["tenant"] == "b")].iloc[0]
    assert (row["got"], row["rho"]) == (0, 0)
    assert row["owed"] * 3600 == pytest.approx(4 * 90)
    lines = short(found, "")
    assert lines[0].startswith("b got 0 % of the GPU-time that it was owed, the least of all tenants")
    assert lines[1] == "The largest gap: in minute 1, b was owed 0.056 GPU-hours and got 0."
    assert lines[-1] == "With 1 job, the means say little: look at the intervals before you act."
    with pytest.raises(InputError, match="tenant 'c' has a waiting job but no share"):
        with_those_who_wait(recorded("a1 8 0 0 100", "b1 4 0 0 9", "c1 4 10", weights={"a": 1, "b": 2}))
    with pytest.raises(InputError, match=r"no job fits .* 8 GPUs; .* quota .*; use larger tenants"):
        audit(recorded("a1 8 0 0 100", "b1 8 0 100 109"), Cluster(1, 8), get_policy("fifo"), [])


def test_a_cluster_where_nobody_waits(tmp_path: Path) -> None:
    found = audit(recorded("a1 1 0 0 50", "b1 1 5 5 9"), Cluster(1, 4), get_policy("fifo"), ["astraea"])
    assert change(found) == "No job waited for more than 2 s, so there is nothing to change."
    given = found._replace(calibration=found.calibration._replace(waited=1, recorded=1.0, replayed=9.0))
    assert "Give the settings" in change(given) and "Give the settings" not in change(given, has_settings=True)
    write(found, "The shares are equal.", tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "No job waited." in page and not re.search(r"\bnan\b", words(page))
    one = audit(recorded("a1 1 0 0 50"), Cluster(1, 4), get_policy("fifo"))
    assert short(one, "")[0] == "a got 100 % of the GPU-time that it was owed."
    write(one, "The shares are equal.", tmp_path)
    assert "All jobs were submitted at once." in (tmp_path / "index.html").read_text()


def test_what_to_change_first_rests_on_a_near_replay_and_on_other_schedulers() -> None:
    far = audit(recorded("a1 4 0 0 10", "b1 4 0 90 100", "b2 4 0 95 99"), Cluster(1, 8), get_policy("fifo"))
    assert change(far).startswith("Improve the replay before you choose a scheduler from this page")
    own = audit(recorded("a1 2 0 0 10", "a2 2 0 10 20", "b1 2 0 0 20"), Cluster(1, 4), get_policy("fifo"), ["fifo"])
    assert own.overview["scheduler"].tolist() == ["as recorded", "fifo"]
    assert change(own).startswith("Nothing stands out")


def test_cells_of_a_column() -> None:
    assert cells_of(pd.Series([1234.5, 0.4, np.nan])) == ["1,234", "0", "–"]
    assert cells_of(pd.Series([1.234, 0.5])) == ["1.23", "0.50"]
    assert cells_of(pd.Series([99.97, 3.0])) == ["100", "3"]
    assert cells_of(pd.Series([8.0, 16.0])) == ["8", "16"]
    assert cells_of(pd.Series([1000, 2])) == ["1,000", "2"]


WAITING = waits_still("1", "vision")
BAD: dict[str, tuple[str, list[str], str]] = {
    "unknown scheduler": (log_text(), ["--scheduler", "crystal-ball"], "policy must be one of astraea, "),
    "unknown alternative": (log_text(), ["--what-if", "fifo,crystal-ball"], "policy must be one of astraea, "),
    "too few nodes": (log_text(), ["--nodes", "1"], "more than the cluster of 1 x 4 has; give the true"),
    "no job that ran": (HEAD + "\n" + WAITING, [], "none of the 1 rows is a job that can be simulated"),
    "a parameter that is none": (log_text(), ["--param", "speed=9"], "unknown parameter 'speed'"),
    "no starts": (GOOD, ["--time-unit", "s"], "the log has no start of job '1'"),
    "a bad row": (log_text().replace("|normal|2", "|normal|soon", 1), ["--strict"], "line 2: Submit must be a time"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_audited(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, more, says = BAD[case]
    monkeypatch.chdir(tmp_path)
    Path("log.txt").write_text(text)
    refused(["audit", "log.txt", *RUN, *more, "--out", "out"], capsys, says)
    clean(tmp_path)


def test_what_the_log_says_as_a_result(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["simulate", str(made / "mycluster.txt"), "--policy", "observed", *RUN[:4], "--json"]
    assert main(argv) == 0
    told = json.loads(capsys.readouterr().out)
    overview = pd.read_csv(made / "named" / "overview.csv").set_index("scheduler").loc["as recorded"]
    assert (told["policy"], told["jobs"]) == ("observed", 40)
    assert told["average_jct"] == pytest.approx(overview["average_jct"])
    assert told["sharing_loss"] == pytest.approx(overview["sharing_loss"])
