// Scenarios: processors with the blob checkpoint store.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { numbers, texts, waitUntil } from "./stage.mjs";

const ALL = ["0", "1", "2", "3"];

// The batch in which the checkpoint is written may hold later events: they come again.
export async function checkpoint_and_resume(stage) {
  for (const event of texts(10)) await stage.send([event], { partitionId: "1" });
  const { store } = stage;
  const checkpointWhen = (event) => event.body === "event-4";
  await stage.reading({ partition: null, store, checkpointWhen }, async (first) => {
    await first.take(10);
    await waitUntil(() => "1" in first.checkpoints, 10, "the checkpoint");
    assert.deepEqual(first.checkpoints, { 1: 4 });
  });
  await stage.reading({ partition: null, store }, async (second) => {
    await second.take(5);
    assert.deepEqual(second.sequences(), { 1: numbers(5, 10) });
  });
}

// A processor in a process of its own, so that it can be killed the hard way.
class Victim {
  said = { owned: [], checkpoints: {}, errors: [] };

  constructor({ connectionString, hub, store }) {
    const program = fileURLToPath(new URL("./victim.mjs", import.meta.url));
    this.process = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
    this.ended = once(this.process, "exit");
    this.process.stdin.write(`${JSON.stringify({ connectionString, hub, store })}\n`);
    createInterface({ input: this.process.stdout }).on("line", (line) => {
      this.said = JSON.parse(line);
    });
  }

  async kill() {
    if (this.process.exitCode === null) this.process.kill("SIGKILL");
    await this.ended;
  }
}

async function sendEverywhere(stage, count) {
  for (const partitionId of ALL) await stage.send(texts(count), { partitionId });
}

async function share(survivor, victim) {
  await waitUntil(
    () => {
      const [ours, theirs] = [[...survivor.owned], victim.said.owned];
      const all = new Set([...ours, ...theirs]);
      return ours.length === 2 && theirs.length === 2 && all.size === 4;
    },
    20, "two partitions each",
    () => JSON.stringify([[...survivor.owned], victim.said, survivor.errors.map(String)]),
  );
}

async function outlive(stage, survivor, victim) {
  await share(survivor, victim);
  await sendEverywhere(stage, 25);
  const written = (at) => Math.max(survivor.checkpoints[at] ?? -1, victim.said.checkpoints[at] ?? -1);
  await waitUntil(() => ALL.every((at) => written(at) >= 49), 20, "checkpoints at 49 everywhere");
  const orphans = victim.said.owned;
  await victim.kill();
  const before = survivor.events.length;
  await sendEverywhere(stage, 25);
  await waitUntil(
    () => survivor.owned.size === 4 && ALL.every((at) => survivor.checkpoints[at] === 74),
    20, "the survivor to own and finish everything",
    () => JSON.stringify([[...survivor.owned], survivor.checkpoints]),
  );
  assert.equal(orphans.length, 2);
  const wanted = Object.fromEntries(ALL.map((at) => [at, numbers(50, 75)]));
  assert.deepEqual(survivor.sequences(before), wanted);
}

export async function processors_balance_and_one_dies(stage) {
  const { store } = stage;
  await sendEverywhere(stage, 25);
  const victim = new Victim(stage);
  try {
    const reading = { partition: null, store, checkpointWhen: () => true };
    await stage.reading(reading, (survivor) => outlive(stage, survivor, victim));
  } finally {
    await victim.kill();
  }
}
