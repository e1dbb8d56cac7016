"""Docstrings that are shown to users, also under ``python -OO``, which drops them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def docstring(of: Any) -> str:
    """Return the docstring of a module, class or function, from its source file if Python dropped it; "" if none."""
    if of.__doc__ and (__doc__ or not inspect.isclass(of)):  # without its own, a NamedTuple gets one that says nothing
        return str(of.__doc__)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(of)))
    except (OSError, TypeError, SyntaxError):  # made in a session, or no file of source
        return ""
    node = tree if inspect.ismodule(of) else tree.body[0]
    return (ast.get_docstring(node) or "") if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else ""
