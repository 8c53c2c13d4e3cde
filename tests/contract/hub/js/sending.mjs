// Scenarios: sending, and where what was sent arrives.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { numbers, texts, waitUntil } from "./stage.mjs";

const HUB_LIMIT_BYTES = 1048576;

export async function send_one(stage) {
  await stage.send([{ body: Buffer.from("hello") }], { partitionId: "0" });
  const [{ partition, event }] = await stage.reading({}, (reader) => reader.take(1));
  assert.equal(partition, "0");
  assert.equal(Buffer.from(event.body).toString(), "hello");
  assert.equal(event.sequenceNumber, 0);
  assert.equal(event.offset, "0");
  assert.ok(Math.abs(Date.now() - event.enqueuedTimeUtc.getTime()) < 60000);
}

export async function send_many(stage) {
  await stage.send(texts(500), { partitionId: "1" });
  await stage.reading({ partition: "1" }, async (reader) => {
    await reader.take(500);
    assert.deepEqual(reader.bodies(), numbers(0, 500).map((number) => `event-${number}`));
    assert.deepEqual(reader.sequences(), { 1: numbers(0, 500) });
  });
}

export async function batch_keeps_its_size_limit(stage) {
  const batch = await stage.producer.createBatch({ partitionId: "0", maxSizeInBytes: 4096 });
  let taken = 0;
  while (batch.tryAdd({ body: String(taken).padStart(100) })) taken += 1;
  assert.ok(taken > 20 && taken < 40, `${taken} events fitted`);
  assert.ok(batch.sizeInBytes <= 4096);
  await stage.send(batch);
  await stage.reading({}, async (reader) => {
    await reader.take(taken);
    assert.deepEqual(reader.bodies().map(Number), numbers(0, taken));
  });
}

export async function link_tells_the_size_limit(stage) {
  const batch = await stage.producer.createBatch();
  assert.equal(batch.maxSizeInBytes, HUB_LIMIT_BYTES);
}

export async function too_large_is_refused(stage) {
  const large = { body: Buffer.alloc(HUB_LIMIT_BYTES + 1, "x") };
  await assert.rejects(stage.send([large], { partitionId: "0" }), { code: "MessageTooLargeError" });
  const batch = await stage.producer.createBatch({ partitionId: "0" });
  assert.equal(batch.tryAdd(large), false);
  await stage.send([{ body: "small" }], { partitionId: "0" });
  await stage.reading({}, async (reader) => {
    await reader.take(1);
    assert.deepEqual(reader.bodies(), ["small"]);
  });
}

export async function partition_key_picks_the_partition(stage) {
  const keys = Object.entries(stage.keyPartitions);
  for (const [key] of keys) {
    await stage.send([{ body: key }, { body: key }], { partitionKey: key });
    await stage.send([{ body: key }], { partitionKey: key });
  }
  await stage.reading({ partition: null }, async (reader) => {
    const events = await reader.take(3 * keys.length);
    const found = events.map(({ partition, event }) => `${event.body} in ${partition}`).sort();
    const wanted = keys.flatMap(([key, at]) => Array(3).fill(`${key} in ${at}`)).sort();
    assert.deepEqual(found, wanted);
    assert.deepEqual(events.map(({ event }) => event.partitionKey), reader.bodies());
  });
}

export async function partition_id_picks_the_partition(stage) {
  for (const partitionId of ["1", "0", "1"]) {
    await stage.send([{ body: `for ${partitionId}` }], { partitionId });
  }
  await stage.reading({ partition: null }, async (reader) => {
    const events = await reader.take(3);
    for (const { partition, event } of events) {
      assert.equal(event.body, `for ${partition}`);
      assert.equal(event.partitionKey, undefined);
    }
    assert.deepEqual(events.map(({ partition }) => partition).sort(), ["0", "1", "1"]);
  });
}

export async function events_without_a_key_are_spread(stage) {
  for (const event of texts(60)) await stage.send([event]);
  await stage.reading({ partition: null }, async (reader) => {
    const events = await reader.take(60);
    const found = new Set(events.map(({ partition }) => partition));
    assert.deepEqual([...found].sort(), ["0", "1", "2", "3"]);
  });
}

export async function large_event(stage) {
  const body = randomBytes(900 * 1024);
  await stage.send([{ body }], { partitionId: "0" });
  const [{ event }] = await stage.reading({}, (reader) => reader.take(1));
  assert.ok(Buffer.compare(body, Buffer.from(event.body)) === 0, "the bytes differ");
}

export async function ten_thousand_in_order(stage) {
  const each = 2500;
  const partitions = ["0", "1", "2", "3"];
  await stage.reading({ partition: null }, async (reader) => {
    for (let start = 0; start < each; start += 500) {
      for (const partitionId of partitions) {
        const batch = await stage.producer.createBatch({ partitionId });
        for (const number of numbers(start, start + 500)) {
          assert.ok(batch.tryAdd({ body: `${partitionId}/${number}` }));
        }
        await stage.send(batch);
      }
    }
    await waitUntil(
      () => reader.events.length >= 4 * each,
      30, "10,000 events", () => `${reader.events.length} events, errors ${reader.errors}`,
    );
    const wanted = Object.fromEntries(partitions.map((at) => [at, numbers(0, each)]));
    assert.deepEqual(reader.sequences(), wanted);
    for (const at of partitions) {
      const bodies = reader.events.filter((one) => one.partition === at).map((one) => one.event.body);
      assert.deepEqual(bodies, numbers(0, each).map((number) => `${at}/${number}`));
    }
  });
}
