// How kinds of sensor, times and counts are called. A kind that is not here is called by its own name.

const KINDS = {
  motion: { name: "Motion", icon: "motion", on: "Movement", off: "Still", alarm: "Motion" },
  door: { name: "Door", icon: "door", on: "Opened", off: "Closed", alarm: "Door opened" },
  window: { name: "Window", icon: "window", on: "Opened", off: "Closed", alarm: "Window opened" },
  glass: { name: "Glass", icon: "glass", on: "Broken", off: "Whole", alarm: "Glass broken" },
  smoke: { name: "Smoke", icon: "smoke", on: "Smoke", off: "Clear", alarm: "Smoke" },
  "carbon monoxide": { name: "Carbon monoxide", icon: "gas", on: "Detected", off: "Clear", alarm: "Carbon monoxide" },
  temperature: { name: "Temperature", icon: "heat", on: "Warm", off: "Normal", alarm: "Heat" },
  water: { name: "Water", icon: "water", on: "Wet", off: "Dry", alarm: "Water" },
};
const SAME = { co: "carbon monoxide", heat: "temperature", thermometer: "temperature", leak: "water" };

export function wordsOf(kind) {
  const plain = kind.toLowerCase().replace(/[-_]+/g, " ").trim();
  const known = KINDS[SAME[plain] ?? plain];
  if (known) return known;
  const name = plain.charAt(0).toUpperCase() + plain.slice(1);
  return { name, icon: "sensor", on: "Active", off: "Quiet", alarm: name };
}

const clock = new Intl.DateTimeFormat([], { hour: "numeric", minute: "2-digit" });
const clockSeconds = new Intl.DateTimeFormat([], { hour: "numeric", minute: "2-digit", second: "2-digit" });
const dayAndClock = new Intl.DateTimeFormat([], { weekday: "short", hour: "numeric", minute: "2-digit" });
const numbers = new Intl.NumberFormat();

const hour = new Intl.DateTimeFormat([], { hour: "numeric" });
export const hourText = (ms) => hour.format(ms);
export const timeText = (ms) => clock.format(ms);
export const secondText = (ms) => clockSeconds.format(ms);
export const countText = (value) => numbers.format(value);

/** A time of the last day: with the day where it was yesterday. */
export function whenText(ms, now) {
  const isToday = new Date(ms).toDateString() === new Date(now).toDateString();
  return (isToday ? clock : dayAndClock).format(ms);
}

export function agoText(ms, now) {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min ago`;
  return `${Math.round(minutes / 60)} h ago`;
}

export const times = (count) => (count === 1 ? "once" : `${countText(count)} times`);
