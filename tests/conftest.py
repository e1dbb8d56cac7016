"""Fixtures that every test may use."""

from fixtures import one_process, pytest_configure, shared

__all__ = ["one_process", "pytest_configure", "shared"]
