// Scenarios: where a reader starts.

import assert from "node:assert/strict";
import { earliestEventPosition, latestEventPosition } from "./packages.mjs";
import { comesTrue, numbers, texts, waitUntil } from "./stage.mjs";

// Ten events in partition 0, appended in ten calls, as the hub stamped them.
async function tenEvents(stage) {
  for (const event of texts(10)) await stage.send([event], { partitionId: "0" });
  const events = await stage.reading({}, (reader) => reader.take(10));
  return events.map(({ event }) => event);
}

// The reader gets the events from that sequence number to the last, and no other.
async function assertStartsWith(stage, start, sequence) {
  await stage.reading({ start }, async (reader) => {
    await reader.take(10 - sequence);
    assert.deepEqual(reader.sequences(), { 0: numbers(sequence, 10) });
  });
}

export async function start_at_earliest(stage) {
  await tenEvents(stage);
  await assertStartsWith(stage, earliestEventPosition, 0);
}

// Events are sent until one arrives: nobody can see when a reader has attached.
export async function start_at_latest(stage) {
  await stage.send(texts(10, "old"), { partitionId: "0" });
  await stage.reading({ start: latestEventPosition }, async (reader) => {
    for (const event of texts(200, "new")) {
      await stage.send([event], { partitionId: "0" });
      if (await comesTrue(() => reader.events.length || reader.errors.length, 0.1)) break;
    }
    await reader.take(1);
    assert.ok(reader.bodies().every((body) => body.startsWith("new-")), `${reader.bodies()}`);
  });
}

export async function start_after_offset(stage) {
  const events = await tenEvents(stage);
  await assertStartsWith(stage, { offset: events[6].offset }, 7);
}

export async function start_at_offset(stage) {
  const events = await tenEvents(stage);
  await assertStartsWith(stage, { offset: events[6].offset, isInclusive: true }, 6);
}

export async function start_after_sequence_number(stage) {
  await tenEvents(stage);
  await assertStartsWith(stage, { sequenceNumber: 3 }, 4);
}

export async function start_at_sequence_number(stage) {
  await tenEvents(stage);
  await assertStartsWith(stage, { sequenceNumber: 3, isInclusive: true }, 3);
}

// Events are sent until the hub's clock has passed the tenth event's millisecond.
export async function start_after_enqueued_time(stage) {
  const events = await tenEvents(stage);
  const last = events.at(-1).enqueuedTimeUtc;
  let sent = 0;
  let now = last;
  while (now <= last) {
    await stage.send([{ body: "later" }], { partitionId: "0" });
    sent += 1;
    now = (await stage.producer.getPartitionProperties("0")).lastEnqueuedOnUtc;
  }
  await stage.reading({ start: { enqueuedOn: last } }, async (reader) => {
    await waitUntil(
      () => reader.errors.length || reader.sequences()[0]?.includes(9 + sent),
      20, "the event that was sent later",
    );
    assert.deepEqual(reader.errors, []);
    assert.ok(reader.events.every(({ event }) => event.enqueuedTimeUtc > last));
  });
}

// This SDK leaves `isInclusive` out where the position is a time: the millisecond before says it.
// Events before the seventh may share its millisecond: those are to come too.
export async function start_at_enqueued_time(stage) {
  const times = (await tenEvents(stage)).map((event) => event.enqueuedTimeUtc.getTime());
  await assertStartsWith(stage, { enqueuedOn: times[6] - 1 }, times.indexOf(times[6]));
}

async function assertRefused(stage, start, words) {
  await tenEvents(stage);
  const error = await stage.reading({ start }, (reader) => reader.error());
  assert.equal(error.code, "ArgumentError");
  assert.ok(error.message.includes(words), error.message);
}

export async function offset_beyond_the_end_is_refused(stage) {
  await assertRefused(stage, { offset: "99999999" }, "The supplied offset '99999999' is invalid");
}

export async function sequence_number_beyond_the_end_is_refused(stage) {
  const words = "The supplied sequence number '5000' is invalid";
  await assertRefused(stage, { sequenceNumber: 5000 }, words);
}
