"""Studies of the notebooks on Gavel [Narayanan2020]."""
