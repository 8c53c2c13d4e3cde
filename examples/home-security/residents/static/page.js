// The residents' page: hears what is new, keeps what is known, has it drawn.
// Rules: while nobody looks at the page it holds no connection; whatever ends the connection, the page
// goes on showing what it has, says so, and comes back by itself.

import { begin, known, putMinute, putQuarter } from "./known.js";
import { draw, setText } from "./view.js";
import { secondText } from "./words.js";

const HIDDEN_FOR = 30_000;
const DRAW_EVERY = 5_000;
const REMEMBERED = 100;
const TRY_AGAIN = 3_000;
const WAIT_MOST = 120_000;
// A connection that is lost for no longer is not worth a word beside the chip.
const LOST_FOR = 10_000;
// By how much a beat may come late before this device's clock is taken for another one.
const CLOCK_OFF = 1_000;
const CLOCK_EVERY = 30_000;
const byId = (id) => document.getElementById(id);
const path = location.pathname.replace(/\/$/, "");

let source = null;
let ahead = null; // how far the server's clock is ahead of this device's; null until that is known
let delays = [];
let isDrawn = true;
let hiding = null;
let again = null;
let turn = 0; // of those who come back: only the newest goes on
let lostAt = null;
let clockReadAt = 0;

const now = () => Date.now() + (ahead ?? 0);
const isLost = () => lostAt !== null && performance.now() - lostAt > LOST_FOR;

// --- the clock: by the quickest of a few answers, and kept by the beats

async function readClock() {
  clockReadAt = performance.now();
  let best = Infinity;
  for (let ask = 0; ask < 3; ask += 1) {
    const sent = performance.now();
    const answer = await fetch(`${path}/clock`, { cache: "no-store" });
    if (answer.status === 404) return refuse();
    if (!answer.ok) throw new Error(`the clock answers ${answer.status}`);
    const told = await answer.json();
    const took = performance.now() - sent;
    if (took < best) {
      best = took;
      ahead = told * 1000 + took / 2 - Date.now();
    }
  }
  return null;
}

/**
 * What a beat says may come late, and never early: it stands where it says more than is known. Where
 * it says much less the beat was held up, or this device's clock was set: the clock is read again.
 */
function keepClock(told) {
  const said = told * 1000 - Date.now();
  if (ahead === null || said > ahead) ahead = said;
  else if (ahead - said > CLOCK_OFF && performance.now() - clockReadAt > CLOCK_EVERY) {
    readClock().catch((problem) => console.warn(`the clock could not be read: ${problem.message}`));
  }
}

// --- the connection

function connect() {
  clearTimeout(again);
  source?.close();
  const opened = source = new EventSource(`${path}/live`);
  const on = (name, act) => opened.addEventListener(name, (event) => { act(JSON.parse(event.data)); drawSoon(); });
  on("home", (told) => { keepClock(told.now); begin(told); state("live", "Live"); });
  on("minute", (told) => measure(putMinute(told)));
  on("quarter", (told) => measure(putQuarter(told)));
  on("whole", () => { known.isWhole = true; });
  on("beat", (told) => { keepClock(told.now); trouble(told.silentSince); });
  opened.onerror = () => {
    state("lost", "Reconnecting");
    // A browser does not come back by itself from an answer that is none: why, is asked.
    if (opened.readyState === EventSource.CLOSED) comeBackIn(TRY_AGAIN);
  };
}

function comeBackIn(ms) {
  clearTimeout(again);
  again = setTimeout(comeBack, ms);
}

async function comeBack() {
  const mine = turn += 1;
  if (document.hidden || source?.readyState === EventSource.OPEN) return;
  disconnect();
  try {
    const stop = new AbortController();
    const answer = await fetch(`${path}/live`, { signal: stop.signal, cache: "no-store" });
    const why = answer.ok ? "" : await answer.text();
    stop.abort();
    if (answer.ok) await readClock();
    if (mine !== turn || document.hidden || byId("link-state").dataset.state === "refused") return;
    if (answer.status === 404) refuse();
    else if (answer.ok) connect();
    else {
      say(answer.status === 503 ? why : `The server answers ${answer.status}. This page tries again by itself.`);
      comeBackIn(Math.min(WAIT_MOST, Number(answer.headers.get("Retry-After")) * 1000) || TRY_AGAIN);
    }
  } catch {
    // Nobody answers: the chip says so.
    if (mine === turn) comeBackIn(TRY_AGAIN);
  }
}

function disconnect() {
  clearTimeout(again);
  source?.close();
  source = null;
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => { disconnect(); state("lost", "Paused"); }, HIDDEN_FOR);
  else if (!source || source.readyState === EventSource.CLOSED) comeBack();
});

// --- what is said of it

function state(name, words) {
  byId("link-state").dataset.state = name;
  setText(byId("link-words"), words);
  if (name !== "live") setText(byId("link-delay"), "");
  lostAt = name === "live" ? null : lostAt ?? performance.now();
}

function refuse() {
  disconnect();
  state("refused", "Link ended");
  say("This link no longer opens your home. Ask whoever looks after your alarm system for a new one.");
}

function trouble(since) {
  say(since === null ? "" : `New readings cannot be fetched since ${secondText(since * 1000)}. What is below is older.`);
}

function say(what) {
  byId("trouble").hidden = !what;
  if (what) setText(byId("trouble"), what);
}

/** Every reading that is new, also one that comes late. It is not said aloud: it would never end. */
function measure(made) {
  if (!made.length || ahead === null) return;
  const took = made.map((at) => Math.max(0, now() - at) / 1000);
  delays = [...delays, ...took].slice(-REMEMBERED);
  const sorted = delays.toSorted((one, other) => one - other);
  const within = sorted[Math.ceil(sorted.length * 0.95) - 1];
  const newest = took[made.indexOf(Math.max(...made))];
  setText(byId("link-delay"), `${newest.toFixed(1)} s from the sensor`);
  setText(byId("delay"), `From the sensor to this page: ${newest.toFixed(1)} s for the newest reading; `
    + `95 of 100 within ${within.toFixed(1)} s.`);
  document.documentElement.dataset.delay = newest.toFixed(3);
  document.documentElement.dataset.delayMost = sorted.at(-1).toFixed(3);
}

function drawSoon() {
  if (!isDrawn) return;
  isDrawn = false;
  requestAnimationFrame(() => { isDrawn = true; draw(now(), isLost()); });
}

setInterval(() => { if (!document.hidden && known.home) draw(now(), isLost()); }, DRAW_EVERY);
readClock().catch(() => { ahead = null; }).finally(() => { if (byId("link-state").dataset.state !== "refused") connect(); });
