"""Downloads of real workloads: fetched, checked and unpacked in a temporary folder, then published."""

from __future__ import annotations

import gzip
import shutil
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

import pooch
import requests

from astraea.core.errors import InputError
from astraea.core.files import publishing
from astraea.core.progress import progress
from astraea.traces.sources import RAW, SOURCES, File, Source

ATTEMPTS: Final = 3
"""Attempts at a download before it is given up."""


def fetch(name: str, folder: str | Path = RAW) -> Path:
    """Download one of `SOURCES` into `folder/name`, unless it is there and complete; else nothing is left behind."""
    if name not in SOURCES:
        raise InputError(f"unknown workload {name!r}; expected one of {', '.join(SOURCES)}")
    source, target = SOURCES[name], Path(folder) / name
    if source.by_hand:
        raise InputError(f"{name}: the addresses of its files are unknown; download it by hand from {source.by_hand}")
    if _is_complete(source, target):
        print(f"{name}: already in {target}", file=sys.stderr)
        return target
    with publishing(target) as work:
        size = f"{source.size / 1e9:.2f} GB"
        print(f"{name}: {source.title}{f', {size}' if source.size else ''}", file=sys.stderr)
        if source.untried:
            print(f"{name}: this download is untested; its address comes from other people's notes", file=sys.stderr)
        free = shutil.disk_usage(work).free
        if free < source.size:
            raise InputError(f"{name}: needs {size}, but the disk has only {free / 1e9:.2f} GB left")
        for file in source.files:
            if not (file.sha256 or file.git_blob or source.members):
                print(f"{name}: {file.name} has no published checksum; only its format is checked", file=sys.stderr)
            path = _download(name, f"{source.host}/{file.path}", file, work)
            if source.keep:
                extract(path, work, source.keep)
                path.unlink()
        try:
            source.check(work)
        except InputError as error:
            raise InputError(f"{name}: {str(error).replace(f'{work}/', '')}; nothing was stored") from None
    return target


def _download(name: str, url: str, file: File, folder: Path) -> Path:
    """Download one file into `folder` and check its checksum; a failed download is repeated."""
    pooch.get_logger().setLevel("WARNING")
    store = pooch.Pooch(
        folder, "", {file.name: file.sha256 or None}, urls={file.name: url}, retry_if_failed=ATTEMPTS - 1
    )
    try:
        with progress(f"downloading {file.name}", "B", 1, unit_scale=True) as bar:
            path = Path(store.fetch(file.name, downloader=pooch.HTTPDownloader(progressbar=bar, timeout=60)))
        if file.has_blob(path):
            path.chmod(0o644)
            return path
        problem = f"the content of {url} does not match its git object id"
    except requests.HTTPError as error:
        status = "nothing" if error.response is None else error.response.status_code
        problem = f"the server answered {status} for {url}"
    except (requests.ConnectionError, requests.Timeout):
        problem = f"cannot reach {url}; check the network"
    except requests.RequestException as error:
        problem = f"cannot download {url} ({error})"
    except ValueError:
        problem = f"the content of {url} does not match its SHA-256"
    raise InputError(f"{name}: {problem}; nothing was stored")


def extract(archive: Path, folder: Path, keep: Sequence[str]) -> None:
    """Extract the files with these names or patterns, and nothing unsafe, without the top folder of the archive."""

    def place(member: str) -> str:
        parts = PurePosixPath(member).parts
        if member.startswith("/") or ".." in parts or "\\" in member:
            raise InputError(f"{archive.name}: member {member!r} would leave the folder")
        is_kept = bool(parts) and any(fnmatchcase(parts[-1], pattern) for pattern in keep)
        return "/".join(parts[1:] or parts) if is_kept else ""

    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                for info in zipped.infolist():
                    if stat.S_ISLNK(info.external_attr >> 16):
                        raise InputError(f"{archive.name}: member {info.filename!r} is a link")
                    if inside := place(info.filename):
                        info.filename = inside
                        zipped.extract(info, folder)
        else:
            with tarfile.open(archive) as tarred:
                for member in tarred:
                    if inside := place(member.name):
                        tarred.extract(member.replace(name=inside), folder, filter="data")
    except tarfile.FilterError as error:  # a link to outside, a device
        raise InputError(f"{archive.name}: {error}") from None
    except (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"{archive.name}: the archive is damaged ({error})") from None


def _is_complete(source: Source, folder: Path) -> bool:
    """Return whether a published folder is complete; checksums help only if no archive was unpacked."""
    try:
        source.check(folder)
    except InputError:
        return False
    return bool(source.keep) or all(
        file.sha256 in ("", pooch.file_hash(str(folder / file.name))) and file.has_blob(folder / file.name)
        for file in source.files
    )
