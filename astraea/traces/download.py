"""Real workloads from their public homes: download, check, unpack, publish.

Everything happens in a temporary folder beside the target; a single rename publishes the finished folder. A broken,
wrong or interrupted download therefore never stands where a reader would find it.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import pooch
import requests
from tqdm.auto import tqdm

from astraea.core.errors import InputError
from astraea.traces.sources import SOURCES, File, Source
from astraea.traces.unpack import unpack

RAW: Final = Path("data/raw")
"""Where downloads go unless another folder is named."""

ATTEMPTS: Final = 3
"""How often a broken download is tried before it is given up."""


def names(*, small: bool = False) -> tuple[str, ...]:
    """Names that `fetch` accepts; with `small`, only those that are no large download."""
    return tuple(name for name, source in SOURCES.items() if not (small and source.size))


def fetch(name: str, folder: str | Path = RAW, progress: bool = True, *, base_url: str | None = None) -> Path:
    """Download one workload, check it, and publish it as the folder `folder/name`.

    A workload that is there already, complete and unchanged, is not downloaded again.

    Parameters
    ----------
    name : str
        One of `names()`.
    folder : path
        Where the folder of the workload is to stand; made if it does not exist.
    progress : bool
        Show a progress bar and remarks on the standard error stream.
    base_url : str, optional
        Another server with the same paths.

    Returns
    -------
    Path
        The folder with the files.

    Raises
    ------
    InputError
        The name is unknown, the server cannot be reached or does not have the file, the content is not what it should
        be, or the folder cannot be written.
    """
    if name not in SOURCES:
        raise InputError(f"unknown workload {name!r}; expected one of {', '.join(SOURCES)}")
    source, folder = SOURCES[name], Path(folder)
    target = folder / name
    try:
        if _is_complete(source, target):
            _say(progress, f"{name}: already in {target}")
            return target
        folder.mkdir(parents=True, exist_ok=True)
        _announce(name, source, folder, progress)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as work:
            made = Path(work) / name
            made.mkdir()
            for file in source.files:
                url = (base_url or source.host).rstrip("/") + "/" + file.path
                path = _download(name, url, file, Path(work) if source.keep else made, progress)
                if source.keep:
                    unpack(path, made, source.keep)
            _verify(source, made)
            if target.exists() and not _is_complete(source, target):
                target.rename(Path(work) / "damaged")
            if not target.exists():
                made.rename(target)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise InputError(f"{name}: no space left on the disk of {folder}; free some and try again") from None
        raise InputError(f"{name}: cannot write {target}: {error.strerror or error}") from None
    return target


def _download(name: str, url: str, file: File, folder: Path, progress: bool) -> Path:
    """Download one file into `folder`, with its checksum checked; a broken download is repeated."""
    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=60)
    problem = ""
    for attempt in range(ATTEMPTS):
        time.sleep(attempt)
        try:
            path = Path(pooch.retrieve(url, file.sha256 or None, file.name, folder, downloader=downloader))
        except requests.HTTPError as error:
            status = 500 if error.response is None else error.response.status_code
            problem = f"the server answers {status} for {url}"
            if status < 500:
                break
        except requests.exceptions.ChunkedEncodingError:
            problem = f"the download of {url} broke off"
        except (requests.ConnectionError, requests.Timeout):
            problem = f"cannot reach {url}; check the network"
        except requests.RequestException as error:
            problem = f"cannot download {url} ({error})"
        except ValueError:
            problem = f"the content of {url} does not match its SHA-256"
        else:
            if not file.git_blob or git_blob(path) == file.git_blob:
                path.chmod(0o644)
                return path
            path.unlink()
            problem = f"the content of {url} does not match its git object id"
    raise InputError(f"{name}: {problem}; nothing was stored")


def git_blob(path: Path) -> str:
    """Return the id that git gives a file: SHA-1 of `blob <length>`, a zero byte, and the content."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _verify(source: Source, folder: Path) -> None:
    """Check that everything is there and has the right form."""
    missing = [name for name in source.holds if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder.name}: the download does not hold {', '.join(missing)}")
    if source.check is not None:
        source.check(folder)


def _is_complete(source: Source, folder: Path) -> bool:
    """Tell whether a published folder is still whole; checksums are of use only where no archive was unpacked."""
    try:
        _verify(source, folder)
    except InputError:
        return False
    return bool(source.keep) or all(
        (not file.sha256 or pooch.file_hash(str(folder / file.name)) == file.sha256)
        and (not file.git_blob or git_blob(folder / file.name) == file.git_blob)
        for file in source.files
    )


def _announce(name: str, source: Source, folder: Path, progress: bool) -> None:
    """Say what comes, and refuse what the disk cannot hold."""
    size = f", {source.size / 1e9:.2f} GB" if source.size else ""
    _say(progress, f"{name}: {source.title}{size}")
    for file in source.files:
        if not (file.sha256 or file.git_blob):
            _say(progress, f"{name}: {file.name} has no published checksum; only its form is checked")
    free = shutil.disk_usage(folder).free
    if free < source.size:
        raise InputError(
            f"{name}: needs {source.size / 1e9:.2f} GB, but the disk of {folder} has only {free / 1e9:.2f} GB left"
        )


def _say(progress: bool, text: str) -> None:
    if progress:
        tqdm.write(text, file=sys.stderr)
