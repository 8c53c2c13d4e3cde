"""A driver in client mode on Kubernetes, for tests: `kubernetes_driver.py MASTER FOLDER`.

It asks for one executor, lets Python add up numbers on it, says the sum, and stays until its input
ends. KUBECONFIG says how to reach the API.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  as everybody calls them

SETTINGS = {
    "spark.app.name": "adding",
    "spark.authenticate": "true",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "600m",
    "spark.decommission.enabled": "true",
    "spark.executor.cores": "1",
    "spark.executor.instances": "1",
    "spark.executor.memory": "512m",
    "spark.kubernetes.allocation.batch.delay": "1s",
    "spark.kubernetes.allocation.pods.allocator": "statefulset",
    "spark.kubernetes.container.image": "nobody.example/spark",
    "spark.kubernetes.driver.pod.name": "driver",
    "spark.network.crypto.enabled": "true",
    "spark.ui.enabled": "false",
}


def main(master: str, folder: Path) -> None:
    builder = SparkSession.builder.master(f"k8s://{master}")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.config("spark.local.dir", str(folder)).getOrCreate()
    twice = F.udf(lambda number: number * 2, "long")
    total = spark.range(100).agg(F.sum(twice("id"))).first()
    assert total is not None
    print(json.dumps({"sum": total[0]}), flush=True)
    sys.stdin.read()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
