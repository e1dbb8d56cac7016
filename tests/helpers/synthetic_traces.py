"""The synthetic traces, kept for as long as the process lives."""

from functools import cache

from astraea.traces.synthetic import synthesize

synthetic = cache(synthesize)
