"""A digest of data that is the same under all versions of libraries, so that it can be committed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Part = str | Sequence[str] | npt.NDArray[np.generic]


def digest_of(**parts: Part) -> str:
    """Return the SHA-256 of named texts, sequences of texts and arrays of numbers; different data differ.

    Whole numbers count as int64, other numbers as float64, in little-endian order.
    """
    h = hashlib.sha256()
    for name, part in parts.items():
        if isinstance(part, str):
            part = (part,)
        if isinstance(part, np.ndarray) and part.dtype.kind not in "OU":
            numbers = part.astype("<f8" if part.dtype.kind == "f" else "<i8")
            content = numbers.tobytes()
            head = f"{name} {numbers.dtype.str} {numbers.shape}"
        else:
            texts = list(part)
            lengths = np.fromiter(map(len, texts), "<i8", len(texts))
            content = lengths.tobytes() + "".join(texts).encode("utf-8", "surrogatepass")
            head = f"{name} text {len(texts)}"
        h.update(f"{len(head)}:{head}".encode() + content)
    return h.hexdigest()
