"""The one exception that bad input raises: a sentence with the place, the value and what is expected."""

from __future__ import annotations


class InputError(ValueError):
    """Something the user gave cannot be used; the message says where, what, and what is expected."""


class PolicyError(RuntimeError):
    """A policy broke a rule of the engine; the message names the policy, the job and the time."""
