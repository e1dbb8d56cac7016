"""From notebooks to figures, the gallery and verdicts on claims."""
