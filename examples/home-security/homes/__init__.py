"""The simulated homes of the demo: what they send, and what they have sent.

`python -m homes live` sends; `python -m homes check` compares what the pages show with that.
"""
