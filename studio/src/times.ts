// Times and counts as a person reads them. Instants are epoch milliseconds.

const UNITS: [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** A length of time in at most two units: "1 h 5 min". */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  let rest = Math.round(ms / 1_000) * 1_000;
  const parts: string[] = [];
  for (const [size, name] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${name}`);
    else if (parts.length > 0) break;
    rest -= count * size;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** Where an instant lies from now: "in 5 min", "3 h ago". One unit, so that it does not jump about. */
export function relative(at: number, now: number): string {
  const away = Math.abs(at - now);
  if (away < 1_000) return "now";
  const [size, name] = UNITS.find(([each]) => away >= each) ?? [1_000, "s"];
  const text = `${Math.floor(away / size)} ${name}`;
  return at > now ? `in ${text}` : `${text} ago`;
}

const pad = (number: number): string => String(number).padStart(2, "0");

/** The clock here: "14:05", with the day if it is another one. */
export function clock(at: number, now: number): string {
  const date = new Date(at);
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  return date.toDateString() === new Date(now).toDateString()
    ? time
    : `${date.toLocaleDateString(undefined, { month: "short", day: "numeric" })}, ${time}`;
}

/** The instant exactly, here and in UTC. */
export function exact(at: number): string {
  const date = new Date(at);
  return `${date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" })}\n${utc(at)}`;
}

export function utc(at: number): string {
  return `${new Date(at).toISOString().replace("T", " ").slice(0, 19)} UTC`;
}

const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
export const count = (number: number): string => numbers.format(number);

/** A count that stops at a limit. */
export const upTo = (number: number, limit: number): string => (number >= limit ? `${count(limit)}+` : count(number));

export const plural = (number: number, one: string, many = `${one}s`): string => `${count(number)} ${number === 1 ? one : many}`;
