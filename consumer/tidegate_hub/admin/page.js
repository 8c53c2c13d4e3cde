// The page of the admin API: live tables, refreshed each second, and a form for every operation.
// Rules: everything that a client of the hub could have named is set as text, never as HTML; rows
// are changed in place, so that focus and selection stay where they are.
"use strict";

const API = "/api/v1";
const REFRESH_MS = 1000;
const byId = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat("en");
const opened = new Map(); // hub name -> its <details> and tables
let before = null; // the counters of the refresh before this one
let failedSince = null;

function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// --- words

const count = (value) => numbers.format(value);
const plural = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;

function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) { bytes /= 1000; unit += 1; }
  return `${unit && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

function ago(time, now) {
  if (time === null) return "never";
  const seconds = Math.max(0, (Date.parse(now) - Date.parse(time)) / 1000);
  if (seconds < 100) return `${Math.round(seconds)} s ago`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min ago`;
  return new Date(time).toLocaleString();
}

// --- talking to the hub

async function ask(method, path, body) {
  const options = { method, cache: "no-store", signal: AbortSignal.timeout(10000) };
  if (body !== undefined) {
    options.body = body;
    options.headers = { "Content-Type": "application/json" };
  }
  const response = await fetch(path, options);
  return { status: response.status, phrase: response.statusText, text: await response.text() };
}

async function read(path) {
  const { status, text } = await ask("GET", path);
  const value = JSON.parse(text);
  if (status !== 200) throw new Error(value.detail);
  return value;
}

async function change(method, path, done) {
  try {
    const { status, text } = await ask(method, path);
    byId("notice").textContent = status < 300 ? done : JSON.parse(text).detail;
  } catch (error) {
    byId("notice").textContent = `That failed: ${error.message}`;
  }
  await running;
  await refresh();
}

// --- tables

const WRAPPED = new Set(["Client", "Links", "Library", "Parameters", "Last offset", "Where"]);

// Columns are [label, row => text], and for a button also [what it does, its name for a screen
// reader]; a table keeps its rows by key.
function makeTable(caption, columns, none, classes) {
  const head = make("tr", { role: "row" }, ...columns.map(([label]) =>
    make("th", { scope: "col", role: "columnheader" }, label)));
  const body = make("tbody", { role: "rowgroup" });
  const table = make("table", { className: classes, role: "table" },
    ...(caption ? [make("caption", {}, caption)] : []), make("thead", { role: "rowgroup" }, head), body);
  const empty = make("p", { className: "quiet" }, none);
  return { node: make("div", { className: "scroll" }, table, empty), table, empty, body, columns, rows: new Map() };
}

function fillTable(target, rows, keyOf) {
  const left = new Set(target.rows.keys());
  const seen = new Set();
  rows.forEach((row, index) => {
    let key = String(keyOf(row));
    while (seen.has(key)) key += "'";
    seen.add(key);
    left.delete(key);
    let line = target.rows.get(key);
    if (!line) {
      line = make("tr", { role: "row" }, ...target.columns.map(([label, , action]) => {
        const cell = make("td", { role: "cell", "data-label": label, className: WRAPPED.has(label) ? "" : "whole" });
        if (action) cell.append(make("button", { type: "button", onclick: () => action(line.row) }));
        return cell;
      }));
      target.rows.set(key, line);
    }
    line.row = row;
    target.columns.forEach(([, textOf, action, nameOf], column) => {
      const cell = line.children[column];
      setText(action ? cell.firstChild : cell, textOf(row));
      if (nameOf) cell.firstChild.ariaLabel = nameOf(row);
    });
    if (target.body.children[index] !== line) target.body.insertBefore(line, target.body.children[index] ?? null);
  });
  for (const key of left) { target.rows.get(key).remove(); target.rows.delete(key); }
  target.table.hidden = rows.length === 0;
  target.empty.hidden = rows.length > 0;
}

// --- hubs

let readAt = null;

function makeHub(name) {
  const title = make("summary");
  const facts = make("p", { className: "quiet" });
  const receivers = makeTable("Receivers", [
    ["Partition", (row) => row.partition],
    ["Group", (row) => row.group],
    ["Behind", (row) => (row.behind === 0 ? "nothing" : plural(row.behind, "event"))],
    ["Position", (row) => count(row.position)],
    ["Epoch", (row) => (row.epoch === null ? "none (shared)" : String(row.epoch))],
    ["Credit", (row) => count(row.credit)],
    ["Client", (row) => (row.name ? `${row.name} in ${row.client}` : row.client)],
    ["Connection", (row) => `${row.connection}`],
  ], "Nobody receives from this hub.", "stack");
  const partitions = makeTable("Partitions", [
    ["Id", (row) => row.id],
    ["Events", (row) => count(row.events)],
    ["First", (row) => (row.events ? count(row.first_sequence) : "–")],
    ["Next", (row) => count(row.next_sequence)],
    ["Size", (row) => size(row.bytes)],
    ["Last event", (row) => ago(row.last_enqueued_at, readAt)],
    ["Last offset", (row) => row.last_offset],
  ], "No partitions.", "");
  const node = make("details", { open: opened.size === 0, ontoggle: () => { if (node.open) refresh(); } },
    title, make("div", { className: "inside" }, facts, receivers.node, partitions.node));
  byId("hubs").append(node);
  return { node, title, facts, receivers, partitions, name };
}

async function showHub(hub) {
  if (!opened.has(hub.name)) opened.set(hub.name, makeHub(hub.name));
  const shown = opened.get(hub.name);
  setText(shown.title, `${hub.name}: ${plural(hub.partition_count, "partition")}, ${plural(hub.events, "event")}, `
    + `${size(hub.bytes)}, ${plural(hub.receivers, "receiver")}, ${plural(hub.publishers, "publisher")}`);
  const { hours, bytes } = hub.retention;
  const kept = [hours === null ? null : `${hours} h`, bytes === null ? null : `${size(bytes)} a partition`];
  setText(shown.facts, `Groups: ${hub.groups.join(", ")}. Keeps events `
    + `${kept.filter(Boolean).join(", at most ") || "for ever"}.`);
  if (!shown.node.open) return;
  const { partitions } = await read(`${API}/hubs/${encodeURIComponent(hub.name)}/partitions`);
  fillTable(shown.partitions, partitions, (row) => row.id);
  const receivers = partitions.flatMap((each) => each.receivers.map((row) => ({ ...row, partition: each.id })));
  fillTable(shown.receivers, receivers, (row) => `${row.partition} ${row.group} ${row.connection} ${row.name} ${row.epoch}`);
}

function forgetHubs(names) {
  for (const [name, { node }] of opened) {
    if (!names.has(name)) { node.remove(); opened.delete(name); }
  }
}

// --- connections, faults, counters

function placeOf(row) {
  const places = ["hub", "partition", "group"].filter((name) => row[name] !== undefined && row[name] !== null);
  return places.map((name) => `${name} ${row[name]}`).join(", ") || "everywhere";
}

function linkWords(link) {
  const where = link.partition === null ? link.hub : `${link.hub}/${link.partition}`;
  return link.role === "receiver" ? `receives ${where} for ${link.group}` : `sends to ${where}`;
}

const connections = makeTable("", [
  ["Number", (row) => String(row.number)],
  ["From", (row) => row.peer],
  ["Client", (row) => row.client || "(has not opened yet)"],
  ["Library", (row) => row.product ?? "not said"],
  ["Links", (row) => row.links.map(linkWords).join("; ") || "none"],
  ["", () => "Drop", (row) => change("DELETE", `${API}/connections/${row.number}`, `Connection ${row.number} was dropped.`),
    (row) => `Drop connection ${row.number}`],
], "Nobody is connected.", "stack");

const faults = makeTable("", [
  ["Id", (row) => row.id],
  ["Kind", (row) => row.kind],
  ["Where", placeOf],
  ["Until", (row) => [
    row.times === undefined ? null : `${plural(row.times, "time")} more`,
    row.until === undefined ? null : new Date(row.until * 1000).toLocaleTimeString(),
  ].filter(Boolean).join(" or ") || "ended by hand"],
  ["Parameters", (row) => (row.parameters ? JSON.stringify(row.parameters) : "none")],
  ["", () => "End", (row) => change("DELETE", `${API}/faults/${row.id}`, `${row.id} was ended.`),
    (row) => `End ${row.id}`],
], "No faults stand: everything works as it should.", "stack");

function showStats(stats) {
  const seconds = before ? (Date.parse(stats.at) - Date.parse(before.at)) / 1000 : 0;
  const rate = (name) => (seconds >= 0.9 ? `${count(Math.round(Math.max(0, stats[name] - before[name]) / seconds))}/s` : "…");
  const shown = {
    "Events in": rate("events_in"), "Events out": rate("events_out"),
    "Bytes in": seconds >= 0.9 ? `${size(Math.max(0, stats.bytes_in - before.bytes_in) / seconds)}/s` : "…",
    "Events kept": count(stats.events), "Size kept": size(stats.bytes), Connections: count(stats.connections),
    "Sends refused": count(stats.deliveries_refused), "Standing faults": count(stats.standing_faults),
  };
  const list = byId("stats");
  for (const [name, value] of Object.entries(shown)) {
    const id = `stat-${name.toLowerCase().replaceAll(" ", "-")}`;
    if (!byId(id)) list.append(make("div", {}, make("dt", {}, name), make("dd", { id })));
    if (value !== "…" || !byId(id).textContent) setText(byId(id), value);
  }
  if (!before || seconds >= 0.9) before = stats;
}

// --- the clock

let running = null;

function refresh() {
  running ??= readAll().finally(() => { running = null; });
  return running;
}

async function readAll() {
  try {
    const [stats, hubs, peers, standing] = await Promise.all(
      ["stats", "hubs", "connections", "faults"].map((name) => read(`${API}/${name}`)));
    readAt = stats.at;
    showStats(stats);
    await Promise.all(hubs.hubs.map(showHub));
    forgetHubs(new Set(hubs.hubs.map((hub) => hub.name)));
    byId("no-hubs").hidden = hubs.hubs.length > 0;
    const names = hubs.hubs.map((hub) => hub.name);
    if (byId("hub-names").children.length !== names.length) {
      byId("hub-names").replaceChildren(...names.map((value) => make("option", { value })));
    }
    fillTable(connections, peers.connections, (row) => row.number);
    fillTable(faults, standing.faults, (row) => row.id);
    setText(byId("clock"), `Live. Read at ${new Date(stats.at).toLocaleTimeString()}.`);
    if (failedSince) byId("notice").textContent = "The hub answers again.";
    failedSince = null;
  } catch (error) {
    setText(byId("clock"), "Not live: what is below is old.");
    failedSince ??= new Date();
    setText(byId("notice"), `The hub has not answered since ${failedSince.toLocaleTimeString()} (${error.message}).`);
  }
}

async function keepRefreshing() {
  if (!document.hidden) await refresh();
  setTimeout(keepRefreshing, REFRESH_MS);
}
