// What both pages of the console share: making elements, words for figures, the live connection.
// Rules: names and messages come from others, and are set as text, never as HTML. While nobody looks
// at a page it holds no connection; whatever ends one, the page says so and comes back by itself.
// Figures that nobody keeps up to date are grey, with the time from which they are: while the
// connection is lost or silent, and while no operator leads.

const HIDDEN_FOR = 30_000;
const TRY_AGAIN = 3_000;
const WAIT_MOST = 120_000;
// The server sends something every 10 s.
const SILENT_FOR = 35_000;
const ANSWERS_IN = 15_000;
const numbers = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export const byId = (id) => document.getElementById(id);

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

// --- words

export const UNKNOWN = "–";
export const countText = (value) => (value === null || value === undefined ? UNKNOWN : numbers.format(value));
export const timeText = (ms) => clock.format(ms);

export function shortCount(value) {
  if (value === null || value === undefined) return "?";
  if (value < 10_000) return numbers.format(value);
  if (value < 999_500) return `${Math.round(value / 1000)}k`;
  return `${(value / 1e6).toFixed(value < 9.95e6 ? 1 : 0)}M`;
}

export function secondsText(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

export function rateText(rate) {
  if (rate === null || rate === undefined) return UNKNOWN;
  return `${rate >= 10 ? numbers.format(Math.round(rate)) : rate.toFixed(1)}/s`;
}

export function agoText(ms, now) {
  return `${secondsText(Math.max(0, (now - ms) / 1000))} ago`;
}

export const plural = (count, word) => `${countText(count)} ${word}${count === 1 ? "" : "s"}`;

/** What is said of a group that no operator has looked at for too long; '' where one has. */
export function staleText({ observed, staleAfterSeconds }, now) {
  const age = observed === null ? 0 : (now - Date.parse(observed)) / 1000;
  return age > staleAfterSeconds ? `As it was ${secondsText(age)} ago: no operator has looked at it since.` : "";
}

const MARKS = { well: "✓", busy: "↻", rest: "❚❚", trouble: "!" };

/** How a group is: a sign and a word, in a colour. */
export function stateMark(state, tone) {
  const sign = make("span", "sign", MARKS[tone] ?? "");
  sign.setAttribute("aria-hidden", "true");
  const mark = make("span", "state", sign, state ?? "Not looked at yet");
  mark.dataset.tone = tone;
  return mark;
}

// --- the connection

/** `refused` is told why nothing new comes, and '' once it does again. */
export function live(path, hears, refused) {
  let source = null;
  let hiding = null;
  let again = null;
  let turn = 0; // of those who come back: only the newest goes on
  let heardAt = null;
  let unledSince = null;

  function connect() {
    clearTimeout(again);
    source?.close();
    const opened = source = new EventSource(path);
    for (const name of new Set(["beat", ...Object.keys(hears)])) {
      opened.addEventListener(name, (event) => {
        const told = JSON.parse(event.data);
        heardAt = Date.now();
        if (name === "beat") unledSince = told.unledSince === null ? null : heardAt - (told.now - told.unledSince) * 1000;
        hears[name]?.(told);
        showAge();
      });
    }
    opened.onopen = () => { heardAt = Date.now(); state("live", "Live"); refused(""); showAge(); };
    opened.onerror = () => {
      state("lost", "Reconnecting");
      showAge();
      if (opened.readyState === EventSource.CLOSED) comeBackIn(TRY_AGAIN);
    };
  }

  function disconnect() {
    clearTimeout(again);
    source?.close();
    source = null;
  }

  function showAge() {
    const isLost = heardAt !== null && source?.readyState !== EventSource.OPEN;
    const since = isLost ? heardAt : unledSince;
    const why = isLost ? "This page hears nothing from the operator" : "No operator looks after the groups";
    document.documentElement.dataset.stale = String(since !== null);
    byId("stale").hidden = since === null;
    setText(byId("stale"), since === null ? "" : `${why} since ${timeText(since)}. All that is shown here is as it was then.`);
  }

  // A server that hangs, or a network that is gone, ends no connection.
  function lookAtSilence() {
    if (source?.readyState !== EventSource.OPEN || Date.now() - heardAt < SILENT_FOR) return;
    state("lost", "Reconnecting");
    disconnect();
    showAge();
    comeBack();
  }

  function comeBackIn(ms) {
    clearTimeout(again);
    again = setTimeout(comeBack, ms);
  }

  // A browser does not come back by itself from an answer that is none: why, is asked here.
  async function comeBack() {
    const mine = turn += 1;
    if (document.hidden || source?.readyState === EventSource.OPEN) return;
    disconnect();
    const stop = new AbortController();
    const tooLate = setTimeout(() => stop.abort(), ANSWERS_IN);
    try {
      const answer = await fetch(path, { signal: stop.signal, cache: "no-store" });
      const { status } = answer;
      const why = status === 503 ? await answer.text() : `The server answers ${status}. This page tries again by itself.`;
      stop.abort();
      if (mine !== turn || document.hidden) return;
      if (status === 401) location.assign("/login");
      else if (status === 200) connect();
      else {
        const isNo = status === 403 || status === 404;
        state("lost", isNo ? "Not live" : "Reconnecting");
        refused(isNo ? whyOf(status) : why);
        const asked = Math.min(WAIT_MOST, Number(answer.headers.get("Retry-After")) * 1000);
        comeBackIn(asked || (isNo ? TRY_AGAIN * 5 : TRY_AGAIN));
      }
    } catch {
      // Nobody answers: the chip says so.
      if (mine === turn) comeBackIn(TRY_AGAIN);
    } finally {
      clearTimeout(tooLate);
    }
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(() => { disconnect(); state("lost", "Paused"); showAge(); }, HIDDEN_FOR);
    else if (!source || source.readyState === EventSource.CLOSED) comeBack();
  });
  setInterval(lookAtSilence, SILENT_FOR / 7);
  connect();
  showWho();
}

const whyOf = (status) => (status === 404
  ? "There is no such group, or you may not see it."
  : "This console is for this machine alone. Open it as localhost or 127.0.0.1.");

function state(name, words) {
  byId("link-state").dataset.state = name;
  setText(byId("link-state"), words);
}

// How groups are asked in a terminal, as the server says it: by `kubectl consumergroup`, or by `tidegate`.
let commands = { ask: "", letters: "" };
const filled = (text, { name, namespace }, command = "") => text.replace(
  /\{(command|namespace|name)\}/g, (_, key) => ({ command, namespace, name })[key]);

/** A command of one group. */
export const commandText = (command, group) => filled(commands.ask, group, command);

/** The command that lists a group's dead letters. */
export const lettersCommand = (group) => filled(commands.letters, group);

async function showWho() {
  const answer = await fetch("/who", { cache: "no-store" }).catch(() => null);
  if (!answer?.ok) return;
  const told = await answer.json();
  byId("leave").hidden = !told.canLogOut;
  commands = told.commands;
  document.documentElement.dataset.local = String(told.isLocal);
  for (const each of document.querySelectorAll("[data-in]")) each.hidden = (each.dataset.in === "machine") !== told.isLocal;
  setText(byId("who"), told.name);
}
