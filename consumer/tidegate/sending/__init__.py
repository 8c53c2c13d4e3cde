"""The producer side: `tidegate send`, from lines of text or from generated sensors.

Pure: outgoing (events and lines), packing (batches), pace, sensors. Edges: sdk and native (the two
transports), feeding (where events come from), command.
"""
