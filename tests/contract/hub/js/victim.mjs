// The processor that is killed. It writes a checkpoint for each batch and prints one JSON line each
// time that what it owns or has stored has changed. It ends with the process that started it.

import { createInterface } from "node:readline";
import { Reader } from "./stage.mjs";

const lines = createInterface({ input: process.stdin });
lines.on("close", () => process.exit(1));
lines.once("line", (line) => {
  const facts = JSON.parse(line);
  const stage = { ...facts, options: {} };
  const reading = { partition: null, store: facts.store, checkpointWhen: () => true };
  const reader = new Reader(stage, reading);
  let said = "";
  setInterval(() => {
    const now = JSON.stringify({
      owned: [...reader.owned],
      checkpoints: reader.checkpoints,
      errors: reader.errors.map(String),
    });
    if (now === said) return;
    said = now;
    process.stdout.write(`${now}\n`);
  }, 20);
});
