"""The group file: the ConsumerGroup document of the operator, as `tidegate run` reads it.

`spec` has the typed settings, `nodes` YAML with line numbers, `reading` makes the one of the other,
`names` is the mapping from our names to the file's, `secrets` fetches what the file only refers to,
and `pages` writes docs/settings.md.
"""
