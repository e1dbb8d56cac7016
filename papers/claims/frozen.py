"""A hash of all rules, which are frozen before a run, and the list of its changes."""

from __future__ import annotations

import inspect
import io
import json
import tokenize
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Final

from papers import ROOT, judging
from papers.claims import checks
from papers.claims.checks import RULES
from papers.claims.evaluate import read_claims
from papers.ye2022.characterize import HIGH, LOW, widest_swap

HISTORY: Final = "data/rules_history.csv"
"""A row for each state of the rules: date, hash, what changed, and which verdicts that moved."""

_DECIDING: Final = ["id", "trace", "relation", "value", "unit", "kind", "repeats"]


def rules_hash() -> str:
    """Twelve digits of the SHA-256 of all that makes verdicts of tables, and counts of verdicts.

    The code of the rules, of what they call and of `checks` is in it without comments and docstrings. So is what each
    `claims.toml` tells them, and what the papers say, with the kind of each statement and what it repeats.
    """
    modules = {judging.__file__, checks.__file__, *(inspect.getfile(rule) for rule in RULES.values())}
    parts = [code(Path(name).read_text(encoding="utf-8")) for name in sorted(modules)]
    parts.append(f"{code(inspect.getsource(widest_swap))} {LOW} {HIGH}")
    for path in sorted((ROOT / "papers").glob("*/claims.toml")):
        parts.append(json.dumps(tomllib.loads(path.read_text(encoding="utf-8")), sort_keys=True))
    parts.append(read_claims()[_DECIDING].to_csv(index=False, lineterminator="\n"))
    return sha256("\0".join(parts).encode()).hexdigest()[:12]


def code(text: str) -> str:
    """Python without comments, docstrings and empty lines, the same under every version."""
    lines, starts = text.splitlines(), True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_text = token.type == tokenize.STRING and starts
        if is_text or token.type == tokenize.COMMENT:
            (first, left), (last, _) = token.start, token.end
            lines[first - 1 : last] = [lines[first - 1][:left], *[""] * (last - first)]
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            starts = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return "\n".join(line.rstrip() for line in lines if line.strip())
