// One group: how it is, who owns what, how it came to be so, and why it has the size that it has.

import { agoText, byId, countText, lettersCommand, live, make, plural, rateText, secondsText, setText, shortCount, staleText, stateMark, timeText, UNKNOWN } from "./common.js";
import { chart } from "./charts.js";
import { drawMap, drawMoves, moved } from "./map.js";

const MOST_SAMPLES = 600;
const SHORTEST_SPAN = 300;
const AGAIN_EVERY = 5_000;
// How a sample comes: see FIELDS of track.py.
const [, LAG, BEHIND, READY, WANTED] = [0, 1, 2, 3, 4];
let group = null;
let samples = [];
let moves = [];
let ahead = 0;

const now = () => Date.now() + ahead;

function draw() {
  if (!group) return;
  document.title = `${group.name} · Tidegate`;
  setText(byId("namespace"), group.namespace);
  setText(byId("name"), group.name);
  byId("state").replaceChildren(stateMark(group.state, group.tone));
  const said = group.said ? [make("li", "", group.said)] : [];
  const stale = staleText(group, now());
  document.querySelector("main").dataset.stale = String(stale !== "");
  const old = stale ? [make("li", "bad", stale)] : [];
  byId("notes").replaceChildren(...old, ...said, ...group.conditions.filter((each) => each.isOfNote).map((each) => (
    make("li", each.isTrouble ? "bad" : "", make("b", "", each.reason || each.type), " ", each.message))));
  drawFacts();
  drawMap(group, Date.now());
  drawMoves(moves, now(), group);
  drawCharts();
  drawWhy();
  drawMembers();
  drawConditions();
  drawLetters();
}

function drawFacts() {
  const { scaling } = group;
  const isLate = group.objectiveSeconds !== null && group.behindSeconds > group.objectiveSeconds;
  const grows = group.lag > 0 && scaling?.handling <= scaling?.arriving;
  // What is handled in batches is behind between them; that is no growth.
  const keepsUp = grows && !isLate && group.ready * scaling.perConsumer > scaling.arriving;
  const [drain, pace] = keepsUp ? ["Keeps up", "more could be handled"]
    : grows ? ["Grows", "more comes than is handled"]
    : [secondsText(group.drainSeconds), group.drainSeconds === null ? "not known" : "at this pace"];
  const facts = [
    ["Consumers", `${countText(group.ready)} of ${countText(group.wanted)}`, "ready"],
    ["Lag", countText(group.lag), group.lagKind === "exact" ? "events" : `events, ${group.lagKind}`],
    ["Oldest event waits", secondsText(group.behindSeconds), group.objective ? `${isLate ? "longer than the " : ""}objective: ${group.objective}` : "no objective", isLate ? "late" : ""],
    ["Arriving", rateText(scaling?.arriving), "events"],
    ["Handled", rateText(scaling?.handling), scaling?.perConsumer ? `${rateText(scaling.perConsumer)} each can` : "events"],
    ["Time to drain", drain, pace],
  ];
  byId("facts").replaceChildren(...facts.map(([name, value, more, className = ""]) => (
    make("div", className, make("dt", "", name), make("dd", "", value), make("dd", "quiet", more)))));
}

function drawCharts() {
  const to = Math.max(now() / 1000, samples.at(-1)?.[0] ?? 0);
  const from = Math.min(samples[0]?.[0] ?? to, to - SHORTEST_SPAN);
  setText(byId("span"), `the last ${secondsText(to - from)}`);
  const marks = (group.scaling?.decisions ?? []).map((each) => Date.parse(each.time) / 1000);
  const limit = group.objectiveSeconds === null ? null : { value: group.objectiveSeconds, text: `objective ${secondsText(group.objectiveSeconds)}` };
  const all = { from, to, marks };
  chart(byId("chart-wait"), samples, { ...all, limit, label: "Oldest event waits", text: secondsText,
    series: [{ label: "it waits", name: "first", at: (each) => each[BEHIND] }] });
  chart(byId("chart-lag"), samples, { ...all, label: "Lag in events", text: shortCount,
    series: [{ label: "lag", name: "first", at: (each) => each[LAG] }] });
  chart(byId("chart-size"), samples, { ...all, label: "Consumers", text: (value) => String(Math.round(value * 10) / 10),
    series: [{ label: "wanted", name: "second", at: (each) => each[WANTED] }, { label: "ready", name: "first", at: (each) => each[READY] }] });
}

function drawWhy() {
  const { scaling } = group;
  setText(byId("why"), scaling
    ? [scaling.message ?? scaling.reason, scaling.instead ? `This is not followed: ${scaling.instead}.` : "",
      scaling.mode === "Auto" ? "" : `Mode ${scaling.mode}.`].filter(Boolean).join(" ")
    : "Nothing has been decided of its size yet.");
  byId("decisions").replaceChildren(...(scaling?.decisions ?? []).toReversed().map((each) => {
    const at = Date.parse(each.time);
    const figures = [each.lag === undefined ? "" : `${countText(each.lag)} waiting`,
      each.behindSeconds ? `oldest ${secondsText(each.behindSeconds)}` : "",
      each.arriving === undefined ? "" : `${rateText(each.arriving)} arriving`,
      each.perConsumer === undefined ? "" : `${rateText(each.perConsumer)} a consumer`].filter(Boolean).join(", ");
    return make("li", "",
      make("span", "size", each.before === undefined ? countText(each.to) : `${countText(each.before)} → ${countText(each.to)}`),
      make("div", "", make("p", "", make("b", "", each.reason), " ", each.message ?? ""), make("p", "quiet", figures)),
      make("time", "quiet", `${timeText(at)}, ${agoText(at, now())}`));
  }));
}

function drawMembers() {
  const heads = ["Member", "Partitions", "Weight", "State"];
  const rows = group.members.map((each) => [each.name, countText(each.partitions), each.weight === null ? UNKNOWN : String(each.weight),
    each.leaving ? "leaving" : each.ready ? "ready" : "not ready"]);
  const cells = (row, isHead) => row.map((text, at) => {
    const cell = make(isHead || !at ? "th" : "td", at === 1 || at === 2 ? "number" : "", text);
    if (isHead || !at) cell.scope = isHead ? "col" : "row";
    return cell;
  });
  byId("members").replaceChildren(make("thead", "", make("tr", "", ...cells(heads, true))),
    make("tbody", "", ...rows.map((row) => make("tr", "", ...cells(row, false)))));
}

function drawConditions() {
  byId("conditions").replaceChildren(...group.conditions.map((each) => {
    const since = each.since ? make("time", "quiet", agoText(Date.parse(each.since), now())) : "";
    const node = make("li", each.isTrouble ? "bad" : "",
      make("p", "", make("b", "", each.type), ` ${each.status} `, make("span", "quiet", each.reason), since),
      make("p", "quiet", each.message));
    return node;
  }));
}

function drawLetters() {
  setText(byId("letters"), group.onFailure === "deadLetter"
    ? `What fails by itself is put aside${group.deadLetters ? ` in ${group.deadLetters}` : ", in the ledger's container"}, and passed.`
    : group.onFailure === "halt"
      ? "When a batch has failed as often as spec.delivery.attempts says, its partition stands still until its owner is restarted or the group is rewound; nothing is put aside."
      : "A batch that fails is given again until it is handled; nothing is put aside.");
  const count = group.deadLettered;
  setText(byId("letters-count"), group.onFailure !== "deadLetter" || count === null ? ""
    : count ? `${plural(count, "event")} put aside by the owners of now, since they began.` : "None since the owners of now began.");
  byId("letters-count").className = count ? "late" : "quiet";
  byId("letters-command").hidden = group.onFailure !== "deadLetter";
  setText(byId("letters-command"), lettersCommand(group));
}

const told = (change) => (data) => { change(data); draw(); };
live(`${location.pathname.replace(/\/$/, "")}/live`, {
  beat: (data) => { ahead = data.now * 1000 - Date.now(); draw(); },
  track: (data) => { samples = data.samples; moves = data.moves; },
  group: told((data) => { group = data; byId("trouble").hidden = true; }),
  sample: told((data) => { samples = [...samples, data].slice(-MOST_SAMPLES); }),
  move: told((data) => { moves = [...moves, data]; moved(data); }),
  gone: () => { byId("trouble").hidden = false; setText(byId("trouble"), "This group was deleted. What is below is how it was last."); },
}, (why) => { byId("trouble").hidden = !why; setText(byId("trouble"), why); });
setInterval(() => { if (!document.hidden) draw(); }, AGAIN_EVERY);
addEventListener("resize", draw);
