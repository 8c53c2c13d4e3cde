// The groups, those in trouble first; a row is changed where it stands.

import { byId, countText, live, make, plural, secondsText, setText, shortCount, staleText, stateMark, UNKNOWN } from "./common.js";

const MANY = 8;
const ORDER = { trouble: 0, busy: 1, well: 2, rest: 3 };
const groups = new Map();
// By how much the server's clock is ahead of this one.
let ahead = 0;

const keyOf = ({ namespace, name }) => `${namespace}/${name}`;

function lagText({ lag, lagKind }) {
  if (lag === null) return UNKNOWN;
  return lagKind === "exact" ? countText(lag) : `${countText(lag)} ${lagKind}`;
}

function cells(group, stale) {
  const link = make("a", "", group.name);
  link.href = `/groups/${encodeURIComponent(group.namespace)}/${encodeURIComponent(group.name)}`;
  const name = make("th", "group", make("span", "quiet", group.namespace), link);
  if (group.said) name.append(make("span", "note quiet", group.said));
  name.scope = "row";
  const state = make("td", "", stateMark(group.state, group.tone));
  if (stale) state.append(make("span", "note late", stale));
  if (group.tone === "trouble" && group.note) state.append(make("span", "note quiet", group.note));
  const isLate = group.objectiveSeconds !== null && group.behindSeconds > group.objectiveSeconds;
  const waits = make("td", `number${isLate ? " late" : ""}`, secondsText(group.behindSeconds));
  if (isLate) waits.append(make("span", "note", "longer than the objective"));
  const found = [
    ["Group", name],
    ["State", state],
    ["Consumers", make("td", "number", `${countText(group.ready)} of ${countText(group.wanted)}`)],
    ["Partitions", make("td", "number", group.owned === null ? countText(group.partitions) : `${countText(group.owned)} of ${countText(group.partitions)}`)],
    ["Lag", make("td", "number", lagText(group))],
    ["Oldest waits", waits],
    ["Objective", make("td", "", group.objective ?? UNKNOWN)],
  ];
  return found.map(([label, cell]) => { cell.dataset.label = label; return cell; });
}

function draw() {
  const wanted = byId("find").value.trim().toLowerCase();
  const shown = [...groups.values()].sort((one, other) => (
    ORDER[one.tone] - ORDER[other.tone] || keyOf(one).localeCompare(keyOf(other))));
  const body = byId("groups").tBodies[0];
  const rows = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  const focused = document.activeElement?.closest("tr")?.dataset.key;
  body.replaceChildren(...shown.map((group) => {
    const key = keyOf(group);
    const stale = staleText(group, Date.now() + ahead);
    const text = JSON.stringify(group) + stale;
    const row = rows.get(key) ?? make("tr");
    if (row.dataset.text !== text) {
      row.dataset.text = text;
      row.dataset.key = key;
      row.dataset.tone = group.tone;
      row.dataset.stale = String(stale !== "");
      row.replaceChildren(...cells(group, stale));
    }
    row.hidden = !key.toLowerCase().includes(wanted);
    return row;
  }));
  if (focused) [...body.rows].find((row) => row.dataset.key === focused)?.querySelector("a").focus();
  byId("groups").hidden = !groups.size;
  byId("none").hidden = groups.size > 0;
  byId("finding").hidden = groups.size <= MANY;
  drawSum(shown);
}

// A sum of what is known says of how many groups it is not.
function sumText(shown, name, text) {
  const known = shown.filter((each) => each[name] !== null);
  const sum = text(known.reduce((before, each) => before + each[name], 0));
  const unknown = shown.length - known.length;
  return unknown ? `at least ${sum}, ${plural(unknown, "group")} unknown` : sum;
}

function drawSum(shown) {
  const troubles = shown.filter((each) => each.tone === "trouble").length;
  const parts = [plural(shown.length, "group"), sumText(shown, "ready", (sum) => plural(sum, "consumer")),
    sumText(shown, "lag", (sum) => `${shortCount(sum)} events wait`)];
  if (troubles) parts.unshift(`${countText(troubles)} in trouble`);
  setText(byId("sum"), shown.length ? parts.join("  ·  ") : "");
}

byId("find").addEventListener("input", draw);
live("/live", {
  beat: (told) => { ahead = told.now * 1000 - Date.now(); draw(); },
  rows: (told) => { groups.clear(); for (const each of told) groups.set(keyOf(each), each); draw(); },
  row: (told) => { groups.set(keyOf(told), told); draw(); },
  gone: (told) => { groups.delete(keyOf(told)); draw(); },
}, (why) => { byId("trouble").hidden = !why; setText(byId("trouble"), why); });
