"""What a reader says of a file that it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from astraea.core.errors import InputError
from astraea.traces.readers import read_trace

TINY = "job_id,num_gpu,submit_time,duration\n0,1,0,5\n1,2,3,6\n"
GPUS = "num_gpu must be a whole number of GPUs from 0 to 1000000, got"
TIME = "must be a time of at least 0 and at most 1e+10 s, got"


def refused(path: Path, **options: Any) -> str:
    """The message, which must be one sentence on one line."""
    with pytest.raises(InputError) as caught:
        read_trace(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "Traceback" not in message
    return message
