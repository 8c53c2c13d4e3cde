// Draws what is known. Rules: names of sensors and homes come from outside, and are set as text; the
// page can be read without colours, without pictures, and as it is read aloud.

import { icon } from "./icons.js";
import { DAY, HOUR, MINUTE, alarms, known, newestAt, sensors, steps, stretches } from "./known.js";
import { agoText, countText, hourText, secondText, timeText, times, whenText, wordsOf } from "./words.js";

const ALARM_IS_NOW = 3 * MINUTE;
const SILENT = 5 * MINUTE;
const SHOWN = 3;
const byId = (id) => document.getElementById(id);
let announced = null;

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

/** `isLost`: what happens now does not reach this page. */
export function draw(now, isLost) {
  const parts = stretches(now);
  const found = alarms(parts);
  document.title = `${found.length && now - found[0].to < ALARM_IS_NOW ? "Alarm! " : ""}${known.home}`;
  setText(byId("home"), known.home);
  drawAlarms(found, parts, now, isLost);
  drawSensors(sensors(parts), found, now);
  byId("hour-section").hidden = byId("day-section").hidden = !parts.length;
  drawHour(parts, now);
  drawDay(parts, now);
}

function drawAlarms(found, parts, now, isLost) {
  const heardAt = newestAt(parts);
  const current = found.filter((each) => now - each.to < ALARM_IS_NOW);
  const names = [...new Set(current.map((each) => wordsOf(each.kind).alarm))];
  let state = "calm";
  let title = "All is quiet";
  let text = found.length ? `The last alarm was ${agoText(found[0].to, now)}.` : "No alarm in the last day.";
  if (current.length) {
    state = "alarm";
    title = names.join(", ");
    text = `${names.length > 1 ? "Alarms" : "Alarm"} at ${secondText(current[0].to)}, ${agoText(current[0].to, now)}`;
  } else if (!parts.length) {
    state = "waiting";
    title = known.isWhole ? "Nothing has been heard yet" : "Looking for your home's readings";
    text = known.isWhole
      ? "None of your sensors has said anything in the last day. What they say appears here by itself."
      : "This takes a moment.";
  } else if (isLost || now - heardAt > SILENT) {
    state = "silent";
    title = `No news since ${whenText(heardAt, now)}`;
    text = isLost ? "This page is not connected, and comes back by itself. Whether all is quiet is not known."
      : "None of your sensors has said anything since then. Whether all is quiet is not known.";
  } else if (!known.isWhole && !found.length) {
    text = "No alarm so far; the last day is being read.";
  }
  if (byId("hero").dataset.state !== state || !byId("hero-icon").hasChildNodes()) {
    byId("hero").dataset.state = state;
    byId("hero-icon").replaceChildren(icon(state));
  }
  setText(byId("hero-title"), title);
  setText(byId("hero-text"), text);
  announce(current, names);
  const listed = (each) => alarmLine(each, now);
  byId("recent").replaceChildren(...found.slice(0, SHOWN).map(listed));
  byId("older").hidden = found.length <= SHOWN;
  setText(byId("older-title"), `${countText(found.length - SHOWN)} more in the last day`);
  byId("older-list").replaceChildren(...found.slice(SHOWN).map(listed));
}

/** Says a new alarm aloud, once. */
function announce(current, names) {
  const newest = current.length ? Math.max(...current.map((each) => each.to)) : 0;
  if (announced !== null && newest > announced) setText(byId("announced"), `Alarm: ${names.join(", ")}`);
  if (!current.length) setText(byId("announced"), "");
  announced = Math.max(announced ?? 0, newest);
}

function alarmLine({ kind, from, to, count }, now) {
  const begun = whenText(from, now);
  const ended = timeText(to);
  const span = begun.endsWith(ended) ? begun : `${begun} – ${ended}`;
  const more = count > 1 ? make("span", "quiet", times(count)) : "";
  return make("li", "", icon("alarm"), make("b", "", wordsOf(kind).alarm), more, make("span", "when", span));
}

function drawSensors(found, alarmed, now) {
  byId("now-section").hidden = !found.length;
  byId("sensors").replaceChildren(...found.map((each) => {
    const words = wordsOf(each.kind);
    const isAlarm = alarmed.some((alarm) => alarm.kind === each.kind && now - alarm.to < ALARM_IS_NOW);
    const isSilent = now - each.heardAt > SILENT;
    const value = each.isSwitch ? (each.last ? words.on : words.off) : countText(each.last ?? 0);
    const tile = make("li", "tile",
      make("span", "tile-icon", icon(isSilent ? "silent" : words.icon)),
      make("span", "tile-name", words.name),
      make("span", "tile-value", isSilent ? "Silent" : value),
      make("span", "quiet", isSilent ? `heard ${agoText(each.heardAt, now)}` : sinceText(each, isAlarm, now)));
    tile.dataset.kind = each.kind;
    tile.dataset.state = isAlarm ? "alarm" : isSilent ? "silent" : each.isSwitch && each.last ? "on" : "off";
    return tile;
  }));
}

function sinceText({ isSwitch, last, activeAt, heardAt }, isAlarm, now) {
  if (isAlarm) return "alarm";
  if (!isSwitch || last) return agoText(heardAt, now);
  return activeAt === null ? "all day" : `last ${agoText(activeAt, now)}`;
}

function drawHour(parts, now) {
  const from = (Math.floor(now / MINUTE) - 59) * MINUTE;
  const found = steps(parts, from, MINUTE, 60);
  bars(byId("hour"), found, "Last hour, minute by minute");
  axis(byId("hour-axis"), [0, 15, 30, 45].map((at) => timeText(found[at].start)), "now");
  setText(byId("hour-sum"), sumText(found));
  table(byId("hour-table"), "Minute", found);
}

function drawDay(parts, now) {
  const hour = new Date(now);
  hour.setMinutes(0, 0, 0);
  const from = hour.getTime() - 23 * HOUR;
  const found = steps(parts.filter((each) => each.start > now - DAY), from, HOUR, 24);
  bars(byId("day"), found, "Last day, hour by hour");
  axis(byId("day-axis"), [0, 6, 12, 18].map((at) => hourText(found[at].start)), "now");
  setText(byId("day-sum"), known.isWhole ? sumText(found) : "being read …");
  table(byId("day-table"), "Hour", found);
}

function table(node, what, found) {
  const kinds = [...new Set(found.flatMap((each) => [...each.kinds.keys()]))].sort();
  const heads = [what, ...kinds.map((kind) => wordsOf(kind).name), "Alarms"];
  const rows = found.toReversed().filter((each) => each.isHeard).map((each) => [
    timeText(each.start), ...kinds.map((kind) => countText(each.kinds.get(kind) ?? 0)), countText(each.alarms)]);
  const cells = (row, tag) => row.map((text, at) => {
    const cell = make(at ? tag : "th", "", text);
    if (!at || tag === "th") cell.scope = tag === "th" ? "col" : "row";
    return cell;
  });
  node.replaceChildren(
    make("thead", "", make("tr", "", ...cells(heads, "th"))),
    make("tbody", "", ...rows.map((row) => make("tr", "", ...cells(row, "td")))));
}

function sumText(found) {
  const sums = new Map();
  for (const { kinds } of found) for (const [kind, count] of kinds) sums.set(kind, (sums.get(kind) ?? 0) + count);
  const most = [...sums].filter(([, count]) => count).sort((one, other) => other[1] - one[1]).slice(0, 3);
  return most.map(([kind, count]) => `${wordsOf(kind).name} ${countText(count)}`).join("  ·  ");
}

function bars(node, found, title) {
  const most = Math.max(1, ...found.map((each) => each.active));
  while (node.children.length < found.length) node.append(document.createElement("span"));
  found.forEach((each, at) => {
    const bar = node.children[at];
    bar.className = each.alarms ? "bar alarm" : each.isHeard ? "bar" : "bar none";
    bar.style.setProperty("--tall", (each.active / most).toFixed(3));
  });
  const count = found.reduce((sum, each) => sum + each.alarms, 0);
  node.setAttribute("aria-label", `${title}: ${sumText(found) || "nothing"}; ${count ? `${times(count)} an alarm` : "no alarm"}`);
}

function axis(node, labels, last) {
  const texts = [...labels, last];
  while (node.children.length < texts.length) node.append(document.createElement("span"));
  texts.forEach((text, at) => setText(node.children[at], text));
}
