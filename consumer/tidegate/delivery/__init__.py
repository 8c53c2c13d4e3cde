"""What is decided on the way from events to the user's handler. Pure: values in, decisions out.

`policy` holds the settings, `attempts` decides what follows a success or a failure of the handler,
`cadence` when a checkpoint is due, `gathering` when a batch is full, `letters` what a dead letter
carries, `state` keeps a partition's state, and `windows` counts in windows of event time on it.
"""
