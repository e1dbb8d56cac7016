"""``live.toml``."""

from __future__ import annotations

from pathlib import Path

import pytest

from astraea.core.errors import InputError
from astraea.live.config import read_config

GOOD = 'partition = "gpu"\nstate = "state.sqlite"\n'


def read(folder: Path, text: str):  # type: ignore[no-untyped-def]
    path = folder / "live.toml"
    path.write_text(text)
    return read_config(path)


def test_everything(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        GOOD + 'policy = "tiresias-l"\ninterval = 2\nwarning = 1.5\ntenant = "user"\nhistory = 0\npatience = 3\n'
        "[parameters]\nlease_term = 60\nqueues = 3\n[weights]\nvision = 2\nspeech = 1\n",
    )
    assert config.policy.parameters["queues"] == 3
    assert config.weights == {"vision": 2, "speech": 1}
    assert (config.interval, config.warning, config.tenant, config.history, config.patience) == (2, 1.5, "user", 0, 3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("partition", "is not TOML"),
        ('state = "s"', "partition must be a text, got None"),
        ('partition = "a b"\nstate = "s"', "partition must be one name, got 'a b'"),
        (GOOD + "round = 3", "unknown key 'round'; there are partition, "),
        (GOOD + "interval = 0", "interval must be a number of at least 1, got 0"),
        (GOOD + 'interval = "2"', "interval must be a number of at least 1, got '2'"),
        (GOOD + 'tenant = "group"', "tenant must be one of"),
        (GOOD + 'policy = "none"', "policy must be one of"),
        (GOOD + 'policy = "none.py:mine"', "there is no file"),
        (GOOD + 'policy = "own.py:other"', "other is not a policy"),
        (GOOD + "[parameters]\nlease = 3", "unknown parameter 'lease'"),
        (GOOD + "[parameters]\nlease_term = 10", "lease_term must be longer than a round"),
        (GOOD + "[weights]\na = 0", "weights.a must be a number above 0, got 0"),
        (GOOD + "weights = 3", "weights must be a table, got 3"),
    ],
)
def test_bad_input(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "own.py").write_text("other = 3\n")
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert sentence in str(error.value)
    assert str(tmp_path / "live.toml") in str(error.value)
