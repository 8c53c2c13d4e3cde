// Scenarios: what is not there, and who may not enter.

import assert from "node:assert/strict";
import { texts } from "./stage.mjs";

const NOT_FOUND = "MessagingEntityNotFoundError";

export async function unknown_hub_is_refused(stage) {
  const other = stage.on({ hub: "no-such-hub" });
  const words = /no-such-hub/;
  await assert.rejects(other.send(texts(1)), { code: NOT_FOUND, message: words });
  await assert.rejects(other.producer.getEventHubProperties(), { code: NOT_FOUND, message: words });
  const error = await other.reading({}, (reader) => reader.error());
  assert.equal(error.code, NOT_FOUND);
  assert.match(error.message, words);
}

export async function unknown_group_is_refused(stage) {
  const error = await stage.reading({ group: "no-such-group" }, (reader) => reader.error());
  assert.equal(error.code, NOT_FOUND);
  assert.match(error.message, /no-such-group/);
}

export async function unknown_partition_is_refused(stage) {
  const code = "ArgumentOutOfRangeError";
  await assert.rejects(stage.send(texts(1), { partitionId: "99" }), { code });
  const error = await stage.reading({ partition: "99" }, (reader) => reader.error());
  assert.equal(error.code, code);
  await assert.rejects(stage.producer.getPartitionProperties("99"), /partition/i);
}

export async function bad_key_is_refused(stage) {
  const wrong = Buffer.from("wrong key for tests").toString("base64");
  const bad = stage.connectionString.replace(/SharedAccessKey=[^;]+/, `SharedAccessKey=${wrong}`);
  assert.notEqual(bad, stage.connectionString);
  const other = stage.on({ connectionString: bad });
  const refusal = { code: "UnauthorizedError", message: /InvalidSignature/ };
  await assert.rejects(other.send(texts(1)), refusal);
  await assert.rejects(other.producer.getEventHubProperties(), refusal);
  const error = await other.reading({}, (reader) => reader.error());
  assert.equal(error.code, "UnauthorizedError");
  await stage.send([{ body: "welcome" }], { partitionId: "0" });
  await stage.reading({}, async (reader) => {
    await reader.take(1);
    assert.deepEqual(reader.bodies(), ["welcome"]);
  });
}
