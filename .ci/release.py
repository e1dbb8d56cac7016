"""Build both packages, check what was built, and say what a maintainer does next: `make release`."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(root: Path, version: str) -> list[str]:
    """Say why this checkout cannot be released as a version, a sentence each."""
    found = []
    if subprocess.run(["git", "-C", root, "status", "--porcelain"], check=True, capture_output=True, text=True).stdout:
        found.append("files are changed or new; commit them first")
    if not re.search(rf"^## {re.escape(version)}\b", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE):
        found.append(f"CHANGELOG.md has no section {version}")
    if f'__version__ = "{version}"' not in (root / "ops" / "astraea_ops" / "__init__.py").read_text("utf-8"):
        found.append(f"astraea_ops has another version than {version}")
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text("utf-8"):
        found.append(f"CITATION.cff names another version than {version}")
    return found


PACKAGES = {"astraea": ".", "astraea_ops": "ops"}
"""The packages, and the folder of the project that each is built in."""


def check(wheel: Path, sdist: Path, version: str, root: Path) -> list[str]:
    """Say what is wrong with what was built of a package, a sentence each."""
    package = wheel.name.partition("-")[0]
    root = root / PACKAGES[package]
    files = {p.relative_to(root).as_posix() for p in (root / package).rglob("*") if p.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    found = []
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        (about,) = (email.message_from_bytes(opened.read(n)) for n in names if n.endswith(".dist-info/METADATA"))
    if {name for name in names if ".dist-info/" not in name} != files:
        found.append(f"{wheel.name} has other files than {package}/")
    if about["Version"] != version:
        found.append(f"{wheel.name} says that it is version {about['Version']}, expected {version}")
    with tarfile.open(sdist) as opened_sdist:
        inside = {name.partition("/")[2] for name in opened_sdist.getnames()}
    texts = ("LICENSE", "LICENSE-text", "CHANGELOG.md") if package == "astraea" else ()
    if missing := {*files, "pyproject.toml", "README.md", *texts} - inside:
        found.append(f"{sdist.name} lacks {', '.join(sorted(missing))}")
    return found


def build(root: Path, folder: Path, package: str = "astraea") -> tuple[Path, Path]:
    """Build a package into a folder; return wheel and source distribution."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{package}-*"):
        old.unlink()
    at = root / PACKAGES[package]
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], check=True, cwd=at)
    (wheel,), (sdist,) = folder.glob(f"{package}-*.whl"), folder.glob(f"{package}-*.tar.gz")
    return wheel, sdist


def main() -> int:
    """Release the checkout that this file is in; exit code 1 if it cannot be."""
    text = (ROOT / "astraea" / "__init__.py").read_text("utf-8")
    version = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]
    found = problems(ROOT, version)
    built = [] if found else [build(ROOT, ROOT / "dist", package) for package in PACKAGES]
    for wheel, sdist in built:
        found += check(wheel, sdist, version, ROOT)
    for problem in found:
        print(f"release: {problem}", file=sys.stderr)
    if found:
        return 1
    print(f"dist/ holds {', '.join(path.name for both in built for path in both)}, all checked.")
    print("Next, when the workflows tests and nightly are green for this commit:")
    print(f"  git tag -a v{version} -m 'Astraea {version}'")
    print(f"  git push origin v{version}    # the workflow release.yml builds and tests it again, and publishes it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
