"""The parts of the native Event Hubs source; sources/eventhubs.py puts them together.

Pure: endpoint, sas, credit, backoff, event, shape, requests, refusals,
websocket.
Edges: line (sockets), connection, reader, dropped.
"""
