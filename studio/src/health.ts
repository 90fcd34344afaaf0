// How the scheduler is, in one sentence: what is worst comes first, and says what to do.
import type { Status } from "./api.ts";
import { clock, count, duration, plural, upTo } from "./times.ts";

export interface Health {
  level: "good" | "warn" | "bad";
  text: string;
}

/** Later than this is late: below it a job is merely on its way. */
export const LATE_MS = 10_000;

/** So long may a job wait for room in a full pool before that is worth a word. */
const FULL_MS = 15 * 60_000;

export function health(status: Status, now: number): Health {
  const { origin } = status;
  if (origin.url === null)
    return { level: "bad", text: "Nothing is delivered: LUNORA_ORIGIN_URL is not set. Set it to this Worker's address." };
  if (!origin.reachable) {
    const since = origin.unreachable_since === null ? "" : ` for ${duration(now - origin.unreachable_since)}`;
    return { level: "bad", text: `Nothing is delivered: ${origin.url} has not answered${since}. Jobs wait and lose no attempt.` };
  }
  const late = status.next_due === null ? 0 : now - status.next_due;
  if (status.due > 0 && late > LATE_MS) {
    const held = status.pools.filter((pool) => pool.paused && pool.queued > 0);
    const waiting = held.reduce((sum, pool) => sum + pool.queued, 0);
    if (held.length > 0 && waiting >= status.due)
      return { level: "warn", text: `${plural(waiting, "job")} wait${waiting === 1 ? "s" : ""} in ${held.length === 1 ? "a paused pool" : "paused pools"}: ${held.map((pool) => pool.name).join(", ")}.` };
    const full = status.pools.filter((pool) => !pool.paused && pool.in_flight >= pool.max_concurrency && pool.queued > 0);
    if (late < FULL_MS && full.reduce((sum, pool) => sum + pool.queued, 0) >= status.due)
      return { level: "good", text: `Busy: ${count(status.in_flight)} running, and ${upTo(status.due, status.counted_up_to)} wait for room in ${full.map((pool) => pool.name).join(", ")}.` };
    return { level: "warn", text: `Running late: ${upTo(status.due, status.counted_up_to)} due, the oldest for ${duration(late)}.` };
  }
  const running = status.in_flight > 0 ? `${count(status.in_flight)} running` : "nothing running";
  const next = status.next_due === null ? "nothing scheduled" : status.next_due <= now ? "the next one is due" : `next at ${clock(status.next_due, now)}`;
  if (status.dead > 0)
    return { level: "warn", text: `On time: ${running}, ${next}. ${upTo(status.dead, status.counted_up_to)} dead ${status.dead === 1 ? "letter waits" : "letters wait"} for a decision.` };
  return { level: "good", text: `All good: ${running}, ${next}.` };
}
