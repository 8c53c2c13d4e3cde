"""The engine `spark`: a group read by PySpark, its executors members of the group.

Rules: pyspark and pyarrow are imported at the rim alone, inside what needs them, so that everything
else of the consumer runs where they are not installed.
"""
