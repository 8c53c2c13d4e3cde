// Scenarios: what the hub tells about itself.

import assert from "node:assert/strict";
import { numbers, texts } from "./stage.mjs";

export async function runtime_metrics(stage) {
  await stage.send(texts(20), { partitionId: "0" });
  await stage.reading({ metrics: true }, async (reader) => {
    const events = await reader.take(20);
    const told = reader.metrics["0"];
    const last = events.at(-1).event;
    assert.equal(told.sequenceNumber, 19);
    assert.equal(last.sequenceNumber, 19);
    assert.equal(told.offset, last.offset);
    assert.equal(told.enqueuedOn.getTime(), last.enqueuedTimeUtc.getTime());
    assert.ok(Math.abs(Date.now() - told.retrievedOn.getTime()) < 60000);
  });
}

export async function hub_properties(stage) {
  const told = await stage.producer.getEventHubProperties();
  assert.equal(told.name, stage.hub);
  assert.deepEqual(told.partitionIds, ["0", "1"]);
  assert.equal(told.isGeoDrEnabled, false);
  const age = Date.now() - told.createdOn.getTime();
  assert.ok(age >= 0 && age < 3600000, `made ${age} ms ago`);
}

export async function partition_ids(stage) {
  assert.deepEqual(await stage.producer.getPartitionIds(), numbers(0, 12).map(String));
}

export async function properties_of_an_empty_partition(stage) {
  await stage.send(texts(1), { partitionId: "1" });
  const told = await stage.producer.getPartitionProperties("0");
  assert.equal(told.eventHubName, stage.hub);
  assert.equal(told.partitionId, "0");
  assert.equal(told.isEmpty, true);
  assert.equal(told.lastEnqueuedSequenceNumber, -1);
  assert.equal(told.lastEnqueuedOffset, "-1");
}

export async function properties_of_a_partition(stage) {
  await stage.send(texts(15), { partitionId: "1" });
  const told = await stage.producer.getPartitionProperties("1");
  const events = await stage.reading({ partition: "1" }, (reader) => reader.take(15));
  const last = events.at(-1).event;
  assert.deepEqual(told, {
    eventHubName: stage.hub,
    partitionId: "1",
    isEmpty: false,
    beginningSequenceNumber: 0,
    lastEnqueuedSequenceNumber: 14,
    lastEnqueuedOffset: last.offset,
    lastEnqueuedOnUtc: last.enqueuedTimeUtc,
  });
}
