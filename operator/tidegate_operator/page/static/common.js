// What both pages of the console share: making elements, words for figures, the live connection.
// Rules: names and messages come from others, and are set as text, never as HTML. While nobody looks
// at a page it holds no connection; whatever ends one, the page says so and comes back by itself.

const HIDDEN_FOR = 30_000;
const TRY_AGAIN = 3_000;
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

export function live(path, hears, refused) {
  let source = null;
  let hiding = null;

  function connect() {
    source = new EventSource(path);
    for (const [name, act] of Object.entries(hears)) {
      source.addEventListener(name, (event) => act(JSON.parse(event.data)));
    }
    source.onopen = () => state("live", "Live");
    source.onerror = () => {
      state("lost", "Reconnecting");
      if (source?.readyState === EventSource.CLOSED) setTimeout(comeBack, TRY_AGAIN);
    };
  }

  // A browser does not come back by itself from an answer that is none: why, is asked here.
  async function comeBack() {
    if (document.hidden || source?.readyState === EventSource.OPEN) return;
    source?.close();
    source = null;
    try {
      const stop = new AbortController();
      const answer = await fetch(path, { signal: stop.signal, cache: "no-store" });
      const { status } = answer;
      stop.abort();
      if (status === 401) location.assign("/login");
      else if (status === 403 || status === 404) { state("lost", "Not live"); refused(await whyOf(status)); setTimeout(comeBack, TRY_AGAIN * 5); }
      else if (status === 200) connect();
      else setTimeout(comeBack, TRY_AGAIN);
    } catch {
      setTimeout(comeBack, TRY_AGAIN);
    }
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) {
      hiding = setTimeout(() => { source?.close(); source = null; state("lost", "Paused"); }, HIDDEN_FOR);
    } else if (!source) comeBack();
  });
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

async function showWho() {
  const answer = await fetch("/who", { cache: "no-store" }).catch(() => null);
  if (!answer?.ok) return;
  const told = await answer.json();
  byId("leave").hidden = !told.canLogOut;
  setText(byId("who"), told.name);
}
