"""Values as one-line text for messages and tables, and docstrings that are shown to users."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any


def escaped(value: Any) -> str:
    """Return a value as text on one line, with control characters escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(value))


def printable(value: Any) -> str:
    """Return a value as text for a message: on one line, control characters escaped, at most 80 characters."""
    text = escaped(str(value)[:80])
    return text + "..." if len(str(value)) > 80 else text


def counted(number: int, word: str) -> str:
    """Return a number of things as text: ``1 job``, ``2,000 jobs``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(words: Iterable[object], last: str = " and ") -> str:
    """Return words as text, with `last` before the last one: ``a, b and c``; "" for none."""
    *others, end = [f"{word}" for word in words] or [""]
    return last.join(word for word in (", ".join(others), end) if word)


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels as Prometheus and OpenMetrics write them, in braces; "" for none. Three characters are escaped."""
    texts = {k: v.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for k, v in labels.items()}
    return "{" + ",".join(f'{k}="{v}"' for k, v in texts.items()) + "}" if texts else ""


def docstring(of: Any) -> str:
    """Return the docstring of a module, class or function, from its source if ``-OO`` removed it; "" if none."""
    if of.__doc__ and (__doc__ or not inspect.isclass(of)):  # a NamedTuple without one gets an empty default
        return str(of.__doc__)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(of)))
    except (OSError, TypeError, SyntaxError):  # made in an interactive session, or no source file
        return ""
    node = tree if inspect.ismodule(of) else tree.body[0]
    return (ast.get_docstring(node) or "") if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else ""
