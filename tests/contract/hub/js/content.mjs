// Scenarios: what an event carries arrives as it was sent.

import assert from "node:assert/strict";

async function roundTrip(stage, ...sent) {
  await stage.send(sent, { partitionId: "0" });
  const events = await stage.reading({}, (reader) => reader.take(sent.length));
  return events.map(({ event }) => event);
}

export async function content_type_and_ids(stage) {
  const sent = {
    body: {},
    contentType: "application/json",
    messageId: "message-1",
    correlationId: "correlation-1",
  };
  const [event] = await roundTrip(stage, sent, { body: "bare" });
  assert.equal(event.contentType, "application/json");
  assert.equal(event.messageId, "message-1");
  assert.equal(event.correlationId, "correlation-1");
}

export async function application_properties(stage) {
  const properties = {
    text: "Küche",
    whole: 42,
    long: 2 ** 40,
    negative: -7,
    real: 21.5,
    yes: true,
    no: false,
    bytes: Buffer.from([0, 1]),
    nothing: null,
  };
  const [event] = await roundTrip(stage, { body: "properties", properties });
  const got = { ...event.properties, bytes: Buffer.from(Object.values(event.properties.bytes)) };
  assert.deepEqual(got, properties);
}

export async function system_properties(stage) {
  const [event] = await roundTrip(stage, {
    bodyType: "data",
    body: Buffer.from("annotated"),
    properties: {
      subject: "reading",
      groupId: "home-1",
      replyTo: "answers",
      contentEncoding: "utf-8",
    },
    messageAnnotations: { "x-opt-sender": "sensor-9" },
  });
  const { systemProperties } = event;
  assert.equal(systemProperties["x-opt-sender"], "sensor-9");
  assert.equal(systemProperties.subject, "reading");
  assert.equal(systemProperties.groupId, "home-1");
  assert.equal(systemProperties.replyTo, "answers");
  assert.equal(systemProperties.contentEncoding, "utf-8");
  const stamped = event.getRawAmqpMessage().messageAnnotations;
  assert.equal(stamped["x-opt-sequence-number"], 0);
  assert.equal(stamped["x-opt-offset"], event.offset);
  assert.equal(Number(stamped["x-opt-enqueued-time"]), event.enqueuedTimeUtc.getTime());
}

// This client cannot send such a body: the test has put the event there by another client.
export async function body_of_several_data_sections(stage) {
  const [{ event }] = await stage.reading({}, (reader) => reader.take(1));
  assert.equal(event.getRawAmqpMessage().bodyType, "data");
  assert.deepEqual(event.body.map(String), ["one", "", "three".repeat(100)]);
}

export async function body_of_null(stage) {
  const bare = [{ body: null }, { body: undefined }, { body: null, properties: { home: 7 } }];
  const events = await roundTrip(stage, ...bare);
  assert.deepEqual(events.map((event) => event.body), [null, null, null]);
  assert.deepEqual(events.map((event) => event.getRawAmqpMessage().bodyType), Array(3).fill("data"));
  assert.deepEqual(events[2].properties, { home: 7 });
}

export async function body_of_one_value(stage) {
  const body = { home: 7, open: true, rooms: ["hall", "kitchen"] };
  const [event] = await roundTrip(stage, { bodyType: "value", body });
  assert.equal(event.getRawAmqpMessage().bodyType, "value");
  assert.deepEqual(event.body, body);
}

export async function body_of_a_sequence(stage) {
  const body = [[1, "two", 3.5, null]];
  const [event] = await roundTrip(stage, { bodyType: "sequence", body });
  assert.equal(event.getRawAmqpMessage().bodyType, "sequence");
  assert.deepEqual(event.body, body);
}
