"""Where the real workloads are: addresses, checksums and forms of the files that `download` gets."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final

from astraea.core.errors import InputError

_FILES_HOST: Final = "https://raw.githubusercontent.com/"
_LARGE_HOST: Final = "https://media.githubusercontent.com/media/"


@dataclass(frozen=True)
class File:
    """One file to download.

    Attributes
    ----------
    path : str
        Path under the host; the last part is the file's name.
    sha256, git_blob : str
        Published checksum: SHA-256 of the content, or the git object id. Both empty where the source publishes none.
    """

    path: str
    sha256: str = ""
    git_blob: str = ""

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True)
class Source:
    """One workload or table that can be fetched by name.

    Attributes
    ----------
    title : str
        What it is, in a few words.
    files : tuple of File
        What is downloaded.
    holds : tuple of str
        Files that the finished folder must hold.
    keep : tuple of str
        Names of the members that are taken out of the archive; empty where the download is no archive.
    host : str
        Where `File.path` begins.
    size : int
        Bytes to download; 0 where small enough not to matter.
    check : callable, optional
        Checks the finished folder further; raises `InputError`.
    """

    title: str
    files: tuple[File, ...]
    holds: tuple[str, ...]
    keep: tuple[str, ...] = ()
    host: str = _FILES_HOST
    size: int = 0
    check: Callable[[Path], None] | None = None


def check_shares(folder: Path) -> None:
    """Check the form of the two files that come without a checksum: each tenant once, with a positive share."""
    path = folder / "share-production.csv"
    try:
        rows = list(csv.reader(path.read_text(encoding="ascii").splitlines()))
        tenants = (folder / "name-production.lst").read_text(encoding="ascii").split()
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name}: the tenants and their shares must be plain text, got {error}") from None
    if not rows or rows[0] != ["name", "share"]:
        raise InputError(
            f"{path.name}, line 1: expected the header name,share, got {','.join(rows[0] if rows else [])!r}"
        )
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != 2 or not row[1].isdecimal() or int(row[1]) == 0:
            raise InputError(
                f"{path.name}, line {line}: expected a name and a whole number above 0, got {','.join(row)!r}"
            )
    if not tenants or sorted(row[0] for row in rows[1:]) != sorted(set(tenants)):
        raise InputError(f"{path.name}: the tenants must be those of name-production.lst, each once")


_ASTRAEA: Final = "yzs981130/Astraea_Artifacts/7ab4bac5653c47b1f4a156f36de2ca3b9cb76e27/evaluation"
_MURI: Final = "Rivendile/Muri/4e69a78ce75f629a5a00abd48150a1860b341ce6/simulator/trace-data/"
_MURI_SHA256: Final = (
    "534d02a4ebe53aee1f60d3fb33e3b2207550bb28813e677c962051058ebafbc5",
    "5c29e1c49ed7929bff67c8008e6f2abcafc64e70bb55cdc91801490ce2df7003",
    "fc8d59783486122d9f522b430c1d5a59fbee119b41feb67a3f67e0751340ce93",
    "69754a0fc95b75de47923eb755d81b4cd7f8df37d82f007f870881e12470f0d1",
)

SOURCES: Final[Mapping[str, Source]] = MappingProxyType(
    {
        "helios": Source(
            title="Helios, four clusters of SenseTime, April to September 2020",
            files=(
                File(
                    "S-Lab-System-Group/HeliosData/159f0caeec16600b9b6017862952a36aae01c43f/data.zip",
                    sha256="3d22a5f6c0ae669e2fcbfe4200fa9c48664507bc397c677bad8f085222c032ac",
                ),
            ),
            holds=("Venus/cluster_log.csv", "Venus/cluster_gpu_number.csv"),
            keep=("cluster_log.csv", "cluster_gpu_number.csv"),
        ),
        "philly-two-weeks": Source(
            title="the two weeks of Philly of the ASTRAEA evaluation, with the tenants' shares",
            files=(
                File(
                    f"{_ASTRAEA}/modified-philly-trace/philly_two_weeks.csv",
                    git_blob="2b1ad376c478b8f058005d9c6b78ef3b4471ffeb",
                ),
                File(f"{_ASTRAEA}/modified-philly-trace/share-production.csv"),
                File(f"{_ASTRAEA}/modified-philly-trace/name-production.lst"),
            ),
            holds=("philly_two_weeks.csv", "share-production.csv", "name-production.lst"),
            check=check_shares,
        ),
        "gavel-throughputs": Source(
            title="training throughputs measured by Gavel's authors",
            files=(
                File(
                    "stanford-futuredata/gavel/c4fa40097339e9608ab71fd64c8bdea96a5e4a4c"
                    "/scheduler/simulation_throughputs.json",
                    sha256="17111f7295f03265fd9e5118d7eba31e3dd9d6e50a2e215c13ad3d3f91f74381",
                ),
            ),
            holds=("simulation_throughputs.json",),
        ),
        "philly-vcs": Source(
            title="four virtual clusters of Philly, 125 days",
            files=tuple(File(f"{_MURI}trace{i}.csv", sha256) for i, sha256 in enumerate(_MURI_SHA256, start=1)),
            holds=("trace1.csv", "trace2.csv", "trace3.csv", "trace4.csv"),
        ),
        "philly": Source(
            title="Philly, whole: job log and machine list of Microsoft's cluster, August to December 2017",
            files=(
                File(
                    "msr-fiddle/philly-traces/29a1b87fa2d9ed80b83c9e3a37f3a88d382b031d/trace-data.tar.gz",
                    sha256="2037ccf63a725a02be718b0e1aeee6142c90b7f62d0d849295120e9f6ba13d2c",
                ),
            ),
            holds=("cluster_job_log", "cluster_machine_list"),
            keep=("cluster_job_log", "cluster_machine_list"),
            host=_LARGE_HOST,
            size=1_055_988_361,
        ),
    }
)
"""Everything that `fetch` knows, by name."""
