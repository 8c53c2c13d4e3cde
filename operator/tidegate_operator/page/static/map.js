// The map of a group's partitions: a lane for each member, warmer the longer events wait.

import { agoText, byId, commandText, countText, make, plural, secondsText, setText, shortCount, timeText } from "./common.js";

// From how many seconds on a partition is one step warmer, where no objective says what is long.
const STEPS = [2, 10, 60, 300];
const SHARES = [0.1, 0.5, 1, 3];
const MOVED_FOR = 6_000;
const MOVES_SHOWN = 8;
// Of so many a status tells who owns them: PARTITIONS_TOLD of status.py.
const PARTITIONS_TOLD = 128;
// So few have the whole width each.
const FEW = 3;
const movedAt = new Map();
// Those whose move has not been drawn yet: it is seen to happen once.
const arriving = new Set();

const stepsOf = (objective) => (objective === null ? STEPS : SHARES.map((share) => share * objective));

function heatOf(partition, steps) {
  if (partition.lagKind === "lost") return "lost";
  if (partition.lag === null || partition.lagKind === "unknown") return "unknown";
  if (partition.lag > 0 && partition.behindSeconds === null) return "unknown";
  return String(steps.filter((step) => partition.behindSeconds >= step).length);
}

function cell(partition, steps, now) {
  const isUnknown = partition.lag === null || (partition.lag > 0 && partition.behindSeconds === null);
  const waits = isUnknown ? "unknown" : partition.behindSeconds ? secondsText(partition.behindSeconds) : "";
  const node = make("li", "cell",
    make("b", "", partition.partition),
    make("span", "", partition.lagKind === "lost" ? "lost" : shortCount(partition.lag)),
    make("span", "waits", waits));
  node.dataset.heat = heatOf(partition, steps);
  node.dataset.partition = partition.partition;
  const hasMoved = now - (movedAt.get(partition.partition) ?? -Infinity) < MOVED_FOR;
  if (hasMoved) node.classList.add("moved");
  if (arriving.delete(partition.partition)) node.classList.add("arriving");
  node.title = [`Partition ${partition.partition}`, `${countText(partition.lag)} events (${partition.lagKind})`,
    `oldest waits ${secondsText(partition.behindSeconds)}`, `epoch ${countText(partition.epoch)}`,
    ...partition.notes].join(", ");
  if (partition.notes.length) node.append(make("span", "pin", partition.notes.join(", ")));
  return node;
}

function lane(name, facts, partitions, steps, now) {
  const list = make("ul", "cells", ...partitions.map((each) => cell(each, steps, now)));
  const title = make("div", "lane-name", make("b", "", name), make("span", "quiet", facts));
  list.setAttribute("aria-label", `Partitions of ${name}`);
  return make("div", `lane${partitions.length ? "" : " bare"}`, title, list);
}

export function drawMap(group, now) {
  const steps = stepsOf(group.objectiveSeconds);
  const states = group.partitionStates;
  byId("map").hidden = !states.length;
  byId("map-none").hidden = states.length > 0;
  setText(byId("map-none"), group.partitionCount > PARTITIONS_TOLD
    ? `This group has ${countText(group.partitionCount)} partitions, too many for its status. ${commandText("partitions --from-ledger", group)} shows them.`
    : "The partitions are not known yet.");
  const owned = Map.groupBy(states, (each) => each.owner ?? "");
  const members = new Map(group.members.map((each) => [each.name, each]));
  const names = [...new Set([...group.members.map((each) => each.name), ...owned.keys()])].filter(Boolean).sort();
  byId("map").dataset.few = String(names.length <= FEW);
  const lanes = names.map((name) => {
    const mine = owned.get(name) ?? [];
    const member = members.get(name);
    const words = [plural(mine.length, "partition")];
    if (member?.leaving) words.push("leaving");
    else if (member && !member.ready) words.push("not ready");
    return lane(name, words.join(", "), mine, steps, now);
  });
  if (owned.has("")) {
    const free = lane("Nobody", plural(owned.get("").length, "partition"), owned.get(""), steps, now);
    free.classList.add("nobody");
    lanes.unshift(free);
  }
  byId("map").replaceChildren(...lanes);
  drawLegend(steps);
}

function drawLegend(steps) {
  const texts = [`under ${secondsText(steps[0])}`, ...steps.map((step) => `${secondsText(step)} +`)];
  const key = texts.join("|");
  if (byId("legend").dataset.key === key) return;
  byId("legend").dataset.key = key;
  const parts = texts.map((text, at) => {
    const swatch = make("span", "swatch");
    swatch.dataset.heat = String(at);
    return make("span", "", swatch, text);
  });
  byId("legend").replaceChildren("The oldest event waits ", ...parts);
}

export function moved(move) {
  movedAt.set(move.partition, Date.now());
  arriving.add(move.partition);
}

export function drawMoves(moves, now, group) {
  setText(byId("moves-none"), group.partitionCount > PARTITIONS_TOLD
    ? `Not known: this group has more than ${PARTITIONS_TOLD} partitions, and its status does not tell who owns which. ${commandText("partitions --from-ledger", group)} shows it.`
    : "None since this console began to look.");
  byId("moves-none").hidden = moves.length > 0;
  byId("moves").replaceChildren(...moves.slice(-MOVES_SHOWN).reverse().map((each) => make("li", "",
    make("time", "", timeText(each.at * 1000)), make("b", "", `Partition ${each.partition}`),
    make("span", "way", each.from, " → ", each.to), make("span", "quiet", agoText(each.at * 1000, now)))));
}
