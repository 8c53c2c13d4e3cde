// Runs the scenarios of the JavaScript client and prints one JSON line for each: name, ok, error, ms.
//
//   node scenarios.mjs --list          the names of all that are implemented
//   node scenarios.mjs [NAME …]        those, or all that TIDEGATE_CONTRACT has a hub for
//
// TIDEGATE_CONTRACT is JSON: {stages: {NAME: {connectionString, hub, store?, alone}}, keyPartitions}.
// The scenarios run side by side, as most of their time is waiting, the longest (the last in the
// list) first; those that must be alone come at the end, one by one.

import * as content from "./content.mjs";
import * as facts from "./facts.mjs";
import * as positions from "./positions.mjs";
import * as processors from "./processors.mjs";
import * as receiving from "./receiving.mjs";
import * as refusals from "./refusals.mjs";
import * as sending from "./sending.mjs";
import { Stage } from "./stage.mjs";

const AT_ONCE = 10;
const SCENARIO_SECONDS = 90;
const IMPLEMENTED = {
  ...sending, ...content, ...positions, ...facts, ...receiving, ...refusals, ...processors,
};

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

function withinTime(work) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not done in ${SCENARIO_SECONDS} s`)),
      SCENARIO_SECONDS * 1000);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

async function play(name, stageFacts) {
  const stage = new Stage(stageFacts);
  try {
    await IMPLEMENTED[name](stage);
  } finally {
    await stage.close();
  }
}

async function run(name, stageFacts) {
  const start = performance.now();
  let error = null;
  try {
    await withinTime(play(name, stageFacts));
  } catch (thrown) {
    error = thrown?.stack ?? String(thrown);
    if (thrown?.code) error += `\ncode: ${thrown.code}`;
  }
  say({ name, ok: error === null, error, ms: Math.round(performance.now() - start) });
}

async function runAll(names, { stages, keyPartitions }) {
  const factsOf = (name) => ({ ...stages[name], keyPartitions });
  const waiting = names.filter((name) => !stages[name].alone).reverse();
  const worker = async () => {
    for (let name = waiting.shift(); name; name = waiting.shift()) await run(name, factsOf(name));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const name of names) if (stages[name].alone) await run(name, factsOf(name));
}

const asked = process.argv.slice(2);
if (asked[0] === "--list") {
  say(Object.keys(IMPLEMENTED));
} else {
  const contract = JSON.parse(process.env.TIDEGATE_CONTRACT);
  await runAll(asked.length ? asked : Object.keys(contract.stages), contract);
  process.exit(0);
}
