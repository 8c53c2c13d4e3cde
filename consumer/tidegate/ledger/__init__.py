"""The ledger of a group: how it is laid out, and the places where it can be kept.

`layout` and `packing` are pure. `memory` is the ledger of tests and of the simulator, `blob` the
one in Azure Blob Storage. All of them keep to `tidegate.ports`.
"""
