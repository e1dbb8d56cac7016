"""What the notebooks ask of Gavel [Narayanan2020]."""
