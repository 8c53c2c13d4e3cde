// Scenarios: who may read, and how soon an event is there.

import assert from "node:assert/strict";
import { WebSocket } from "./packages.mjs";
import { Reader, comesTrue, numbers, texts } from "./stage.mjs";

const IDLE_SECONDS = 1;
const PROMPT_SECONDS = 1;
const QUOTA = 5;

export async function groups_are_independent(stage) {
  await stage.send(texts(5), { partitionId: "0" });
  for (const group of ["audit", "$Default"]) {
    await stage.reading({ group }, async (reader) => {
      await reader.take(5);
      assert.deepEqual(reader.bodies(), numbers(0, 5).map((number) => `event-${number}`));
    });
  }
}

// The idle time is real: a reader that has long had nothing is what this is about.
export async function idle_reader_hears_promptly(stage) {
  await stage.reading({}, async (reader) => {
    await stage.send(texts(1), { partitionId: "0" });
    await reader.take(1);
    assert.equal(await comesTrue(() => reader.events.length > 1, IDLE_SECONDS), false);
    await stage.send([{ body: "now" }], { partitionId: "0" });
    await reader.take(2, PROMPT_SECONDS);
    assert.deepEqual(reader.bodies(), ["event-0", "now"]);
  });
}

async function stolen(stage, firstLevel, secondLevel) {
  await stage.send(texts(3), { partitionId: "0" });
  await stage.reading({ ownerLevel: firstLevel }, async (first) => {
    await first.take(3);
    await stage.reading({ ownerLevel: secondLevel }, async (second) => {
      await second.take(3);
      const error = await first.error();
      assert.equal(error.code, "ReceiverDisconnectedError");
      const words = `with higher epoch of '${secondLevel}'`;
      assert.ok(error.message.includes(words), error.message);
    });
  });
}

export async function higher_owner_level_steals(stage) {
  await stolen(stage, 1, 2);
}

export async function equal_owner_level_steals(stage) {
  await stolen(stage, 7, 7);
}

// The owner of level 2 keeps reading while the other is refused.
async function refusedBesideOwner(stage, ownerLevel) {
  await stage.send(texts(3), { partitionId: "0" });
  await stage.reading({ ownerLevel: 2 }, async (owner) => {
    await owner.take(3);
    await stage.reading({ ownerLevel }, async (other) => {
      assert.equal((await other.error()).code, "ReceiverDisconnectedError");
      assert.deepEqual(other.events, []);
    });
    await stage.send(texts(1, "more"), { partitionId: "0" });
    await owner.take(4);
  });
}

export async function lower_owner_level_is_refused(stage) {
  await refusedBesideOwner(stage, 1);
}

export async function no_owner_level_is_refused_beside_one(stage) {
  await refusedBesideOwner(stage, undefined);
}

export async function sixth_reader_is_over_the_quota(stage) {
  await stage.send(texts(1), { partitionId: "0" });
  const readers = [];
  try {
    for (let count = 0; count < QUOTA; count += 1) {
      readers.push(new Reader(stage, {}));
      await readers.at(-1).take(1);
    }
    await stage.reading({}, async (sixth) => {
      const error = await sixth.error();
      assert.equal(error.code, "QuotaExceededError");
      assert.match(error.message, /5/);
      assert.deepEqual(sixth.events, []);
    });
  } finally {
    for (const reader of readers) await reader.close();
  }
  await stage.reading({}, (reader) => reader.take(1));
}

// The SDK always dials wss. The hub's plain port is what this is about, so ws is dialled instead.
class PlainWebSocket extends WebSocket {
  constructor(url, protocols, options) {
    super(url.replace(/^wss:/, "ws:"), protocols, options);
  }
}

export async function over_websockets(stage) {
  const web = stage.on({ options: { webSocketOptions: { webSocket: PlainWebSocket } } });
  await web.send(texts(50), { partitionId: "0" });
  await web.send([{ body: Buffer.alloc(300000, "x") }], { partitionId: "0" });
  assert.deepEqual(await web.producer.getPartitionIds(), ["0", "1"]);
  await web.reading({}, async (reader) => {
    const events = await reader.take(51);
    const wanted = numbers(0, 50).map((number) => `event-${number}`);
    assert.deepEqual(reader.bodies().slice(0, 50), wanted);
    assert.equal(Buffer.from(events.at(-1).event.body).toString(), "x".repeat(300000));
  });
}
