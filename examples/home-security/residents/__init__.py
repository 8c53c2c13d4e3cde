"""The residents' page: one home's activity as it happens, read from the slices in Blob storage.

`python -m residents serve` starts it, `python -m residents link HOME` prints a home's link.
"""
