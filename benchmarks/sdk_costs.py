"""What the official SDK spends on an event it sends and receives: `sdk_costs.py PORT EVENTS`.

A process of its own, so that its CPU time is its own. Prints a name and a number a line.
"""

from __future__ import annotations

import sys
import threading
import time

from azure.eventhub import EventData, EventHubConsumerClient, EventHubProducerClient

EVENTS_A_BATCH = 300
BODY = b"x" * 200


def main() -> None:
    port, events = sys.argv[1], int(sys.argv[2])
    text = (
        f"Endpoint=sb://localhost:{port};SharedAccessKeyName=k;SharedAccessKey=s;"
        "UseDevelopmentEmulator=true"
    )
    send(text, events)
    receive(text, events)


def send(text: str, events: int) -> None:
    producer = EventHubProducerClient.from_connection_string(text, eventhub_name="load")
    with producer:
        producer.send_event(EventData(BODY), partition_id="1")
        begun, used = time.perf_counter(), time.process_time()
        for _ in range(events // EVENTS_A_BATCH + 1):
            batch = producer.create_batch(partition_id="0")
            for _ in range(EVENTS_A_BATCH):
                batch.add(EventData(BODY))
            producer.send_batch(batch)
        count = (events // EVENTS_A_BATCH + 1) * EVENTS_A_BATCH
        print("send_us", (time.process_time() - used) / count * 1e6)
        print("send_rate", count / (time.perf_counter() - begun))


def receive(text: str, events: int) -> None:
    consumer = EventHubConsumerClient.from_connection_string(
        text, consumer_group="$Default", eventhub_name="load"
    )
    state = {"got": 0, "used": 0.0, "begun": 0.0, "first": 0}
    finished = threading.Event()

    def on_batch(_context: object, batch: list[EventData]) -> None:
        if not state["got"]:
            state["used"], state["begun"] = time.process_time(), time.perf_counter()
            state["first"] = len(batch)
        state["got"] += len(batch)
        for event in batch:
            event.body_as_str()
        if state["got"] >= events and not finished.is_set():
            state["used"] = time.process_time() - state["used"]
            state["begun"] = time.perf_counter() - state["begun"]
            finished.set()

    reader = threading.Thread(
        target=consumer.receive_batch,
        kwargs={
            "on_event_batch": on_batch,
            "partition_id": "0",
            "starting_position": "-1",
            "max_batch_size": EVENTS_A_BATCH,
        },
    )
    reader.start()
    finished.wait()
    print("receive_us", state["used"] / (state["got"] - state["first"]) * 1e6)
    print("receive_rate", (state["got"] - state["first"]) / state["begun"])
    consumer.close()
    reader.join()


if __name__ == "__main__":
    main()
