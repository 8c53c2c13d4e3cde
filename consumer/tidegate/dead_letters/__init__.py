"""Where dead letters are kept: `blobs` beside the ledger, `hub` as events of another hub,
`cosmos` as items of a container, which `parts` divides where they are large.

`replayed` makes an event of a letter again. What a letter says is in delivery/letters.py.
"""
