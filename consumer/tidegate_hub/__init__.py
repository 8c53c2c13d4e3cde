"""The embedded Event Hubs: a server that the official SDKs take for the real service."""
