"""Check the prose of the project: `make lint`, or `python .ci/prose.py PATH ...`.

Reads documents, notebooks, docstrings, messages, captions and notes. Checks long sentences,
forbidden first words and words of this house. The rules are explained in CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import csv
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 35
"""Words that a sentence may have."""

DOCUMENTS = (
    *("*.md", "docs/**/*.md", "bench/*.md", "data/*.md", "figures/*.md"),
    *("notebooks/*.ipynb", "notebooks/solutions/*.ipynb"),
    *("ops/*.md", "ops/docs/**/*.md", "ops/notebooks/**/*.ipynb"),
    *("docs/site/replay/index.html", "data/claims.csv", "data/pictures.csv"),
    *(f"{folder}/**/*.py" for folder in ("astraea", "ops", "papers", "verification", "bench", "tests", "docs", ".ci")),
)
LISTS = ("figures/statements.md",)
"""Generated pages with lists of values that are no sentences; sentences and notes are checked in their own file."""

SHOWN = {"help", "short_help", "expected"}
"""Keyword arguments of functions that are shown to users."""

HEADLESS = {"who", "whoever", "what", "whatever", "whether", "as", "how", "of", "where", "when", "which"}
"""First words that a docstring may not have."""

WORDS = {
    r"hangs? on": "depends on",
    r"stands?(?! (?:for|in for|still)\b)": "is, or another verb",
    r"(?:by|to) the letter": "strictly, literally",
    r"as measured(?! (?:by|on|in|with|from)\b)": "the authors' program",
    r"by (?:its|their)(?: own)? papers?": "from the papers",
    r"delay jobs": "early leases",
    r"(?:is|are) none of them": "is not one of them",
    r"all the same(?= *[.,;])": "anyway",
    r"(?:goes|go|gets|get|got) on(?= *[.,;])": "continues, makes progress",
    r"what of (?:the|a|an|its|their)": "name the thing",
}
"""Words of this house, with plain ones."""

BREAK = "¶"
"""Ends a sentence without a full stop: a broken line, or a dot between the parts of a list."""
BEFORE = r"(?:^|(?<=[.;:] ))"
PATTERNS = {
    **{re.compile(rf"\b{word}\b", re.IGNORECASE): better for word, better in WORDS.items()},
    re.compile(rf"{BEFORE}[Ww]ho(?:ever)?(?= +\w)(?![^.]*\?)"): "say which people: users who ...",
}


def plain(text: str) -> str:
    """Return Markdown with a word for each piece of code or formula, and without pictures, links, marks and HTML."""
    blocks = r"^(```|~~~|\$\$).*?^\1|<!--.*?-->|\$\$.*?\$\$|\{[%#].*?[%#]\}"
    text = re.sub(r"\{\{.*?\}\}", lambda m: "code" + "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    text = re.sub(blocks, lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(`+)[^`]+?\1|(?<!\\)\$[^$\n]+(?:\n[^$\n]+)?\$", lambda m: "code" + "\n" * m[0].count("\n"), text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", lambda m: "\n" * m[0].count("\n"), text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\*+(?=\S)|(?<=\S)\*+", "", text.replace("<br>", BREAK).replace(" · ", f"{BREAK} "))
    return re.sub(r"</?\w[^>]*>", lambda m: " " + "\n" * m[0].count("\n"), text)


def depth(line: str) -> int:
    """Return the number of spaces before a line; that of an empty line is 0."""
    return len(line) - len(line.lstrip()) if line.strip() else 0


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each paragraph, item of a list, heading and cell of a table."""
    at, lines, alone = 1, list[str](), False
    raw = [re.sub(r"^(\s*>)+", "", line).rstrip() for line in [*text.split("\n"), ""]]
    for number, (line, after) in enumerate(zip(raw, [*raw[1:], ""], strict=True), 1):
        item = re.match(r"\s*(?:[-+#:|>]|\* |\d+\.\s|\.\. |[\w*., ]+ : |\S.*\S {2,}\S)", line)
        if (alone or item or not line.strip()) and lines:
            yield at, " ".join(lines)
            lines = []
        if line.lstrip().startswith("|"):
            yield from ((number, cell.strip()) for cell in re.split(r"(?<!\\)\|", line) if cell.strip(" :-"))
        elif line.strip():
            at, lines = at if lines else number, [*lines, re.sub(r"^\s*(?:[-+*]|#+|\d+\.)\s+", "", line).strip()]
        # in a docstring: an underline, a name with its type or above its indented description
        alone = bool(re.match(r"\s*(?:-+$|[\w*., ]+ : )", line)) or (not item and depth(line) < depth(after))


def prose_problems(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and message for each problem of a text in Markdown."""
    for at, paragraph in paragraphs(plain(text)):
        for sentence in re.split(rf"(?<=[.?!])[)\"']*\s+(?=\S)|:\s+(?=[A-Z])|{BREAK}", paragraph):
            words = len(re.findall(r"\w[\w'.,/-]*", sentence))
            if words > LONGEST and not sentence.startswith("DataFrame, columns"):
                yield at, f"{words} words in a sentence, at most {LONGEST}: {sentence[:60]} ..."
        for pattern, better in PATTERNS.items():
            yield from ((at, f'"{found[0]}": {better}') for found in pattern.finditer(paragraph))


def docstring_problems(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and message for each problem of the docstrings of a module."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, documented)]
    attributes = [body for node in bodies for body in ([x] for x in node[1:])]  # strings below what they describe
    for first in (body[0] for body in (*bodies, *attributes) if body):
        if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
            continue
        docstring = first.value.value
        if isinstance(docstring, str) and docstring.strip():
            word = re.split(r"\W", docstring.split()[0])[0]
            if word.lower() in HEADLESS:
                yield first.lineno, f'a docstring begins with "{word}": begin with a verb or a noun'
            yield from ((first.lineno + at - 1, told) for at, told in prose_problems(docstring))


def message_problems(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and message for each problem of the errors and of the commands' help in a module."""
    tree = ast.parse(text)
    shown = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc]
    shown += [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in SHOWN]
    nodes = [node for top in shown for node in ast.walk(top)]
    inside = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "code" for part in node.values]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            parts = [node.value]
        else:
            continue
        yield from ((node.lineno, told) for _, told in prose_problems("".join(parts)))


def texts(content: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield place and text of each string in nested tables and lists."""
    if isinstance(content, str):
        yield place, content
    elif isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content, 1):
            yield from texts(value, f"{place}.{key}".lstrip("."))


def problems(path: Path) -> Iterator[tuple[str, str]]:
    """Yield place and message for each problem of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        for number, cell in enumerate(json.loads(text)["cells"], 1):
            if cell["cell_type"] == "markdown":
                yield from ((f"cell {number}, line {at}", x) for at, x in prose_problems("".join(cell["source"])))
    elif path.suffix in (".toml", ".csv"):
        content: Any = tomllib.loads(text) if path.suffix == ".toml" else list(csv.DictReader(text.splitlines()))
        yield from ((place, x) for place, told in texts(content) for _, x in prose_problems(told))
    elif path.suffix == ".py":
        yield from ((str(at), told) for at, told in (*docstring_problems(text), *message_problems(text)))
    else:
        yield from ((str(at), told) for at, told in prose_problems(text))


def main() -> None:
    """Print the problems of the files that are given, or of all, and fail if there are any."""
    given = [Path(name).resolve() for name in sys.argv[1:]]
    paths = given or [path for glob in DOCUMENTS for path in sorted(ROOT.glob(glob)) if ".ipynb_" not in str(path)]
    later = {path for glob in LISTS for path in ROOT.glob(glob)} if not given else set()
    found = [
        f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{place}: {told}"
        for path in dict.fromkeys(paths)
        if path not in later
        for place, told in problems(path)
    ]
    print(*found, f"prose: {len(found)} problems in {len(set(paths) - later)} files", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
