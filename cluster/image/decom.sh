#!/bin/sh
# The preStop hook that Spark gives to its executors, at the place where it looks for it.
exec /opt/tidegate/bin/python -I -m tidegate.spark.decommission
