"""The ledger in a lease container of Cosmos DB, and the leases of Microsoft's processors there.

`access`, `requests`, `leases` and `states` do the I/O, `ledger` and `shared` join it to the port of
`tidegate.ports`; all others decide and decode, and are pure.
"""
