"""The change feed of a Cosmos container as a source: its feed ranges are the partitions.

The parts: `ranges`, `places` and `tokens` (what a partition and a position are), `lineage` (which
partitions there are while ranges split and merge), `change` (what a handler gets), `budget` and
`refusals` are pure; `pages` asks the service, `reader` and `source` are the ports, and `estimator`
says what is still to be read.
"""
