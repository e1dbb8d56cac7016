"""How fast each kind of job trains on each accelerator type: tables, measurements, estimates."""
