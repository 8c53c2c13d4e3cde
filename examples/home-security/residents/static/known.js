// What is known of the home: rows by minute for the last hour, by quarter of an hour before it.
// Rules: nothing here touches the page. Times are milliseconds, and `now` is the server's.

const FIELDS = ["kind", "count", "alarms", "total", "least", "most", "last", "lastAt", "alarmAt"];
const MINUTE = 60_000;
const QUARTER = 15 * MINUTE;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
// Alarms of one kind that are closer than this are one.
const SAME_ALARM = 2 * MINUTE;

export const known = { home: "", isWhole: false, begunAt: 0, minutes: new Map(), quarters: new Map() };

const asRows = (rows) => rows.map((row) => Object.fromEntries(FIELDS.map((name, at) => [name, row[at]])));
const quarterOf = (at) => Math.floor(at / QUARTER) * QUARTER;

export function begin(told) {
  known.home = told.home;
  known.begunAt = told.now * 1000;
  known.isWhole = told.whole;
  for (const name of ["minutes", "quarters"]) {
    known[name] = new Map(Object.entries(told[name]).map(([start, rows]) => [Number(start) * 1000, asRows(rows)]));
  }
}

/** When the readings were made that this tells and that were not known before. */
function fresh(before, rows) {
  const heard = new Map((before ?? []).map((row) => [row.kind, row.lastAt ?? 0]));
  // Until all of the day was read, what was made before the page was opened is no news.
  const from = known.isWhole ? 0 : known.begunAt;
  return rows.map((row) => [row.lastAt ?? 0, heard.get(row.kind) ?? 0])
    .filter(([at, last]) => at > last && at >= from).map(([at]) => at);
}

export function putMinute(told) {
  const start = told.start * 1000;
  const rows = asRows(told.rows);
  const news = fresh(known.minutes.get(start), rows);
  known.minutes.set(start, rows);
  return news;
}

export function putQuarter(told) {
  const start = told.start * 1000;
  const rows = asRows(told.rows);
  const news = known.quarters.has(start) ? fresh(known.quarters.get(start), rows) : [];
  for (const minute of [...known.minutes.keys()]) if (quarterOf(minute) === start) known.minutes.delete(minute);
  known.quarters.set(start, rows);
  return news;
}

/** All stretches of the last day with what is known of them, in order: minutes where these are. */
export function stretches(now) {
  const byMinute = new Set([...known.minutes.keys()].map(quarterOf));
  const found = [];
  for (const [start, rows] of known.quarters) if (!byMinute.has(start)) found.push({ start, length: QUARTER, rows });
  for (const [start, rows] of known.minutes) found.push({ start, length: MINUTE, rows });
  return found.filter((each) => each.start > now - DAY - QUARTER).sort((one, other) => one.start - other.start);
}

/** Each kind of sensor as it is now. */
export function sensors(parts) {
  const found = new Map();
  for (const { start, rows } of parts) {
    for (const row of rows) {
      const before = found.get(row.kind) ?? { kind: row.kind, isSwitch: true, activeAt: null };
      const isSwitch = before.isSwitch && (row.least ?? 0) >= 0 && (row.most ?? 0) <= 1;
      const activeAt = (row.most ?? 0) > 0 ? Math.max(start, row.alarmAt ?? 0) : before.activeAt;
      found.set(row.kind, { kind: row.kind, isSwitch, activeAt, last: row.last, heardAt: row.lastAt ?? start });
    }
  }
  return [...found.values()].sort((one, other) => one.kind.localeCompare(other.kind));
}

/** The alarms of the last day, the newest first; those close to each other are one. */
export function alarms(parts) {
  const open = new Map();
  const found = [];
  for (const { start, length, rows } of parts) {
    for (const row of rows) {
      if (!(row.alarms > 0)) continue;
      const at = row.alarmAt ?? start;
      const before = open.get(row.kind);
      if (before && at - before.to <= SAME_ALARM + (length > MINUTE ? QUARTER : 0)) {
        before.to = at;
        before.count += row.alarms;
      } else {
        const alarm = { kind: row.kind, from: length > MINUTE && row.alarms > 1 ? start : at, to: at, count: row.alarms };
        open.set(row.kind, alarm);
        found.push(alarm);
      }
    }
  }
  return found.sort((one, other) => other.to - one.to);
}

/** Sums of some stretches, from one time to another, in steps. */
export function steps(parts, from, step, count) {
  const found = Array.from({ length: count }, (_, at) => (
    { start: from + at * step, isHeard: false, active: 0, alarms: 0, kinds: new Map() }));
  for (const { start, rows } of parts) {
    const into = found[Math.floor((start - from) / step)];
    if (!into) continue;
    for (const row of rows) {
      into.isHeard = true;
      into.alarms += row.alarms;
      if ((row.most ?? 0) > 1 || (row.least ?? 0) < 0) continue;
      into.active += row.total;
      into.kinds.set(row.kind, (into.kinds.get(row.kind) ?? 0) + row.total);
    }
  }
  return found;
}

/** When the newest reading was made that is known; 0 where there is none. */
export const newestAt = (parts) => Math.max(0, ...parts.flatMap(({ start, rows }) => rows.map((row) => row.lastAt ?? start)));

export { DAY, HOUR, MINUTE };
