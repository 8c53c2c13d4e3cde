// The residents' page: hears what is new, keeps what is known, has it drawn.
// Rules: while nobody looks at the page it holds no connection; whatever ends the connection, the page
// goes on showing what it has, says so, and comes back by itself.

import { begin, known, newestAt, putMinute, putQuarter } from "./known.js";
import { draw, setText } from "./view.js";
import { secondText } from "./words.js";

const HIDDEN_FOR = 30_000;
const DRAW_EVERY = 5_000;
const REMEMBERED = 100;
const TRY_AGAIN = 3_000;
const byId = (id) => document.getElementById(id);
const path = location.pathname.replace(/\/$/, "");

let source = null;
let ahead = 0; // how far the server's clock is ahead of this device's
let heard = 0; // readings that were made before this are not new to this page
let delays = [];
let isDrawn = true;
let hiding = null;

const now = () => Date.now() + ahead;

// --- the clock: by the quickest of a few answers

async function readClock() {
  let best = Infinity;
  for (let turn = 0; turn < 3; turn += 1) {
    const sent = performance.now();
    const answer = await fetch(`${path}/clock`, { cache: "no-store" });
    if (answer.status === 404) return refuse();
    const told = await answer.json();
    const took = performance.now() - sent;
    if (took < best) {
      best = took;
      ahead = told * 1000 + took / 2 - Date.now();
    }
  }
  return null;
}

// --- the connection

function connect() {
  source = new EventSource(`${path}/live`);
  const on = (name, act) => source.addEventListener(name, (event) => { act(JSON.parse(event.data)); drawSoon(); });
  on("home", (told) => { begin(told); heard = now(); state("live", "Live"); });
  on("minute", (told) => { putMinute(told); measure(); });
  on("quarter", putQuarter);
  on("whole", () => { known.isWhole = true; });
  on("beat", (told) => trouble(told.silentSince));
  source.onerror = () => {
    state("lost", "Reconnecting");
    // A browser does not come back by itself from an answer that is none: why, the clock tells.
    if (source.readyState === EventSource.CLOSED) setTimeout(comeBack, TRY_AGAIN);
  };
}

async function comeBack() {
  if (document.hidden || source?.readyState === EventSource.OPEN) return;
  disconnect();
  try {
    await readClock();
    if (byId("link-state").dataset.state !== "refused") connect();
  } catch {
    setTimeout(comeBack, TRY_AGAIN);
  }
}

function disconnect() {
  source?.close();
  source = null;
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => { disconnect(); state("lost", "Paused"); }, HIDDEN_FOR);
  else if (!source) comeBack();
});

// --- what is said of it

function state(name, words) {
  byId("link-state").dataset.state = name;
  setText(byId("link-words"), words);
}

function refuse() {
  disconnect();
  state("refused", "Link ended");
  byId("trouble").hidden = false;
  setText(byId("trouble"), "This link no longer opens your home. Ask whoever looks after your alarm system for a new one.");
}

function trouble(since) {
  byId("trouble").hidden = since === null;
  if (since !== null) setText(byId("trouble"), `New readings cannot be fetched since ${secondText(since * 1000)}. What is below is older.`);
}

function measure() {
  const newest = newestAt();
  if (newest <= heard) return;
  heard = newest;
  delays = [...delays, Math.max(0, now() - newest) / 1000].slice(-REMEMBERED);
  const sorted = delays.toSorted((one, other) => one - other);
  const within = sorted[Math.ceil(sorted.length * 0.95) - 1];
  setText(byId("link-words"), `Live, ${delays.at(-1).toFixed(1)} s from the sensor`);
  setText(byId("delay"), `From the sensor to this page: ${delays.at(-1).toFixed(1)} s for the newest reading; `
    + `95 of 100 within ${within.toFixed(1)} s.`);
  document.documentElement.dataset.delay = delays.at(-1).toFixed(3);
}

function drawSoon() {
  if (!isDrawn) return;
  isDrawn = false;
  requestAnimationFrame(() => { isDrawn = true; draw(now()); });
}

setInterval(() => { if (!document.hidden && known.home) draw(now()); }, DRAW_EVERY);
readClock().catch(() => {}).finally(() => { if (byId("link-state").dataset.state !== "refused") connect(); });
