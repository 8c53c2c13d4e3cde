"""Where dead letters are kept: `blobs` beside the ledger, `hub` as events of another hub.

`replayed` makes an event of a letter again. What a letter says is in delivery/letters.py.
"""
