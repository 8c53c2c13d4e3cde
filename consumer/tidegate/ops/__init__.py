"""What runs around a consumer: metrics, health, logs, traces and the live view.

All of them listen to the same facts (`observer.Observer`); what decides and reads knows none of
them.
"""
