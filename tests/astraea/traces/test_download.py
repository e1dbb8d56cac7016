"""Downloads against a server on loopback: good, broken, wrong and hostile."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from astraea.core.errors import InputError
from astraea.traces import download as fetching
from astraea.traces.download import fetch
from astraea.traces.sources import SOURCES, File, Source

LOG = b"job_id,user\n1,a\n"
SHARES = {"shares": "share-production.csv", "tenants": "name-production.lst"}


@dataclass
class Server:
    """Answers of the server: path -> one (status, announced length, body) per request, the last one repeated."""

    url: str = ""
    answers: dict[str, list[tuple[int, int, bytes]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def know(self, *files: File, **options: Any) -> None:
        """Make the name `mine` known to `fetch`, with this server as its home."""
        options = {"holds": [file.name for file in files], "host": self.url} | options
        fetching.SOURCES["mine"] = Source(title="a test", files=files, **options)

    def give(self, path: str, *bodies: bytes, announced: int | None = None, status: int = 200) -> None:
        """Answer a path with these bodies, one after the other."""
        self.answers[path] = [(status, len(body) if announced is None else announced, body) for body in bodies]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Run a server in a thread; waits between attempts take no time."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    monkeypatch.setattr(fetching, "SOURCES", dict(SOURCES))
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            answers = state.answers.get(self.path.lstrip("/"), [(404, 0, b"")])
            status, length, body = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.url = f"http://127.0.0.1:{httpd.server_port}"
        yield state
        httpd.shutdown()
        thread.join()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(members: dict[Any, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def nothing_left(folder: Path) -> bool:
    return not folder.exists() or list(folder.iterdir()) == []


def test_good_file_is_published_and_not_fetched_again(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.know(File("a/log.csv", sha256=sha256(LOG)))
    server.give("a/log.csv", LOG)
    path = fetch("mine", tmp_path / "raw")
    assert path == tmp_path / "raw" / "mine"
    assert (path / "log.csv").read_bytes() == LOG
    assert (path / "log.csv").stat().st_mode & 0o777 == 0o644
    assert fetch("mine", tmp_path / "raw") == path
    assert server.asked == ["/a/log.csv"]
    (path / "log.csv").write_bytes(LOG[:5])  # damaged since
    fetch("mine", tmp_path / "raw")
    assert (path / "log.csv").read_bytes() == LOG
    shown = capsys.readouterr().err
    assert "mine: a test" in shown and "downloading log.csv: 16.0 of 16.0 B, 100 %" in shown
    assert f"mine: already in {path}" in shown
    assert [p.name for p in (tmp_path / "raw").iterdir()] == ["mine"]


BLOB = hashlib.sha1(b"blob 16\0" + LOG).hexdigest()


@pytest.mark.parametrize(
    ("file", "body", "options", "says"),
    [
        (File("log.csv"), LOG[:7], {"announced": len(LOG)}, "cannot download .*IncompleteRead"),
        (File("log.csv"), b"", {"status": 503}, "the server answered 503 for .*/log.csv"),
        (File("log.csv", sha256=sha256(LOG)), LOG[1:], {}, "the content of .*log.csv does not match its SHA-256"),
        (File("log.csv", git_blob=BLOB), LOG[1:], {}, "the content of .*log.csv does not match its git object id"),
    ],
)
def test_what_is_not_the_file_is_refused(
    server: Server, tmp_path: Path, file: File, body: bytes, options: Any, says: str
) -> None:
    server.know(file)
    server.give("log.csv", body, **options)
    with pytest.raises(InputError, match=f"^mine: {says}.*; nothing was stored$"):
        fetch("mine", tmp_path)
    assert len(server.asked) == (1 if file.git_blob else fetching.ATTEMPTS)
    assert nothing_left(tmp_path)
    server.give("log.csv", LOG)
    assert (fetch("mine", tmp_path) / "log.csv").read_bytes() == LOG


def test_a_download_that_broke_off_is_repeated(server: Server, tmp_path: Path) -> None:
    server.know(File("log.csv"))
    server.give("log.csv", LOG[:7], LOG, announced=len(LOG))
    assert (fetch("mine", tmp_path) / "log.csv").read_bytes() == LOG
    assert len(server.asked) == 2


def test_server_is_not_there(server: Server, tmp_path: Path) -> None:
    server.know(File("log.csv"), host="http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"^mine: cannot reach http://127\.0\.0\.1:9/log\.csv; check the network"):
        fetch("mine", tmp_path)
    assert nothing_left(tmp_path)


def test_zip_is_unpacked_without_its_top_folder(server: Server, tmp_path: Path) -> None:
    archive = zipped({
        "data/Venus/log.csv": LOG, "data/Venus/sizes.csv": LOG, "data/Earth/log.csv": b"",
        "__MACOSX/data/._log.csv": b"x",
    })  # fmt: skip
    server.know(File("data.zip", sha256=sha256(archive)), holds=("Venus/log.csv",), keep=("log.csv", "sizes.csv"))
    server.give("data.zip", archive)
    path = fetch("mine", tmp_path)
    whole = {"Venus/log.csv": LOG, "Venus/sizes.csv": LOG, "Earth/log.csv": b""}
    assert {p.relative_to(path).as_posix(): p.read_bytes() for p in path.rglob("*.*")} == whole
    (path / "Venus" / "log.csv").unlink()  # an incomplete folder is replaced
    (path / "Venus" / "sizes.csv").write_bytes(b"")
    fetch("mine", tmp_path)
    assert {p.relative_to(path).as_posix(): p.read_bytes() for p in path.rglob("*.*")} == whole


def test_of_an_archive_without_a_checksum_the_members_are_checked(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about = {"holds": ("log.csv",), "keep": ("log.csv",), "members": {"log.csv": sha256(LOG)}}
    server.know(File("data.tar.gz"), **about)
    server.give("data.tar.gz", tarred((tarfile.TarInfo("top/log.csv"), LOG + b"2,b\n")))
    with pytest.raises(InputError, match=r"^mine: log\.csv: the content does not match its SHA-256; nothing"):
        fetch("mine", tmp_path)
    assert nothing_left(tmp_path)
    server.give("data.tar.gz", tarred((tarfile.TarInfo("top/log.csv"), LOG)))
    assert (fetch("mine", tmp_path) / "log.csv").read_bytes() == LOG
    assert "no published checksum" not in capsys.readouterr().err


def special(kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo("top/log.csv")
    info.type, info.linkname = kind, target
    return info


LINK = zipfile.ZipInfo("data/log.csv")
LINK.external_attr = 0o120777 << 16
HOSTILE = {
    "zip-goes-up": (zipped({"../evil": b"x"}), "'../evil' would leave"),
    "zip-link": (zipped({LINK: b"/etc/hostname"}), "'data/log.csv' is a link"),
    "tar-absolute": (tarred((tarfile.TarInfo("/evil"), b"x")), "'/evil' would leave"),
    "tar-symlink": (tarred((special(tarfile.SYMTYPE, "../../outside"), b"")), "outside the destination"),
    "tar-device": (tarred((special(tarfile.CHRTYPE), b"")), "is a special file"),
    "cut": (tarred((tarfile.TarInfo("top/log.csv"), os.urandom(5000)))[:3000], "the archive is damaged"),
    "flipped": (zipped({"data/log.csv": LOG}).replace(b"1,a", b"1,b"), "the archive is damaged"),
    "without": (zipped({"data/other.csv": LOG}), "the download does not contain log.csv"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archive(server: Server, tmp_path: Path, case: str) -> None:
    content, message = HOSTILE[case]
    server.know(File("data.zip", sha256=sha256(content)), holds=("log.csv",), keep=("log.csv", "evil"))
    server.give("data.zip", content)
    with pytest.raises(InputError, match=message):
        fetch("mine", tmp_path / "raw")
    assert nothing_left(tmp_path)


def test_members_of_a_pattern_are_unpacked(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An archive like Kestrel's, whose content is unknown here."""
    about = {"holds": SOURCES["kestrel"].holds, "keep": SOURCES["kestrel"].keep, "untried": True}
    months = {f"esif/year=2025/month={month}/part-0.parquet": LOG for month in (11, 12)}
    archive = zipped({**months, "esif/datacard.md": b"x", "__MACOSX/esif/._part-0.parquet": b"x"})
    server.know(File("data.zip", sha256=sha256(archive)), **about)
    server.give("data.zip", archive)
    path = fetch("mine", tmp_path)
    assert sorted(p.relative_to(path).as_posix() for p in path.rglob("*.*")) == [
        "year=2025/month=11/part-0.parquet", "year=2025/month=12/part-0.parquet",
    ]  # fmt: skip
    assert "mine: this download is untested" in capsys.readouterr().err
    assert fetch("mine", tmp_path) == path
    assert len(server.asked) == 1


def test_what_has_no_known_address_says_where_it_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^frontier: the addresses of its files are unknown; download it by hand from https://jsspp"):
        fetch("frontier", tmp_path)
    assert nothing_left(tmp_path)


def test_unknown_name_and_folder_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^unknown workload 'venus'; expected one of helios, philly-two-weeks"):
        fetch("venus", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/raw/philly-vcs: .*/file is not a folder$"):
        fetch("philly-vcs", tmp_path / "file" / "raw")


def test_disk_is_too_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=10**9)
    monkeypatch.setattr("astraea.traces.download.shutil.disk_usage", lambda folder: usage)
    with pytest.raises(InputError, match=r"^philly: needs 1\.06 GB, but the disk has only 1\.00 GB left$"):
        fetch("philly", tmp_path)
    assert "1.06 GB" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "trouble", "ends"),
    [
        ((Path, "rename"), OSError(28, "No space left on device"), InputError),
        ((Source, "check"), KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_trouble_leaves_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: Any, trouble: Any, ends: Any
) -> None:
    server.know(File("log.csv", sha256=sha256(LOG)))
    server.give("log.csv", LOG)
    monkeypatch.setattr(*place, Mock(side_effect=trouble))
    with pytest.raises(ends):
        fetch("mine", tmp_path)
    assert nothing_left(tmp_path)


def test_shares_without_a_checksum(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The form of these files is checked instead."""
    server.know(*(File(name) for name in SHARES.values()), **SHARES)
    server.give("name-production.lst", b"b\na\n")
    for shares, says in (
        (b"name,share\na,3\nb,-1\n", r'mine: share-production\.csv, line 3: share must be a number above 0, got "-1"'),
        (b"name,share\na,3\n", "mine: share-production.csv: the tenants must be those of name-production.lst"),
    ):
        server.give("share-production.csv", shares)
        with pytest.raises(InputError, match=f"^{says}.*; nothing was stored$"):
            fetch("mine", tmp_path)
        assert nothing_left(tmp_path)
    server.give("share-production.csv", b"name,share\na,3\nb,12\n")
    fetch("mine", tmp_path)
    shown = capsys.readouterr().err
    for name in SHARES.values():
        assert f"mine: {name} has no published checksum; only its format is checked" in shown
