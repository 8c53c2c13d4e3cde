"""`tidegate conformance`: a group on your own cluster, disturbed from a seed, judged from outside.

Rules: what is planned, judged and shown is pure; I/O is in the modules that `pyproject.toml` does
not list as pure. Only objects of the run's own name are touched, and they go at its end.
"""
