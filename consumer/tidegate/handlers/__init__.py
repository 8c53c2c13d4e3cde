"""The user's code: loading it, calling it, and delivering a partition's events to it.

`loading` finds the functions and says what is wrong with them, `context` is what they are given,
`threads` runs plain functions, `calls` makes one call with its time limit, and `partition` carries
out what delivery/ decides.
"""
