"""Slices: what was counted in a stretch of time, one blob a partition and slice. docs/slices.md.

Rules: this package is pure but for `blobs`, which writes them, and needs no more than Python; what
is fast by numpy and Arrow is in tidegate.spark.
"""
