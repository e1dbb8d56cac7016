"""Values as one line of a message, and docstrings that are shown to users."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def escaped(value: Any) -> str:
    """Return a value as text on one line, with control characters escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(value))


def printable(value: Any) -> str:
    """Return a value as text for a message: on one line, control characters escaped, at most 80 characters."""
    text = escaped(str(value)[:80])
    return text + "..." if len(str(value)) > 80 else text


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
