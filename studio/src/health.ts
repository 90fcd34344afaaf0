// How the scheduler is, in one sentence: what is worst comes first, and says what to do.
import type { Pool, Status } from "./api.ts";
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
  const pace = pacing(status, now);
  if (status.dead === 0) return pace;
  const letters = `${upTo(status.dead, status.counted_up_to)} dead ${status.dead === 1 ? "letter waits" : "letters wait"} for a decision.`;
  return { level: "warn", text: `${pace.text.replace(/^All good: /, "On time: ")} ${letters}` };
}

/** Whether jobs begin when they should. */
function pacing(status: Status, now: number): Health {
  const running = status.in_flight > 0 ? `${count(status.in_flight)} running` : "nothing running";
  const late = status.next_due === null ? 0 : now - status.next_due;
  if (status.due === 0 || late <= LATE_MS) {
    const next = status.next_due === null ? "nothing scheduled" : late >= 0 ? "the next one is due" : `next at ${clock(status.next_due, now)}`;
    return { level: "good", text: `All good: ${running}, ${next}.` };
  }
  const waiting = (pools: Pool[]): number => pools.reduce((sum, pool) => sum + pool.queued, 0);
  const names = (pools: Pool[]): string => pools.map((pool) => pool.name).join(", ");
  const queued = status.pools.filter((pool) => pool.queued > 0);
  const paused = queued.filter((pool) => pool.paused);
  const full = queued.filter((pool) => !pool.paused && pool.in_flight >= pool.max_concurrency);
  if (paused.length > 0 && waiting(paused) >= status.due)
    return { level: "warn", text: `On hold: ${plural(waiting(paused), "job")} in ${paused.length === 1 ? "the paused pool" : "paused pools:"} ${names(paused)}.` };
  if (late < FULL_MS && waiting(full) >= status.due)
    return { level: "good", text: `Busy: ${running}, ${upTo(status.due, status.counted_up_to)} waiting for room in ${names(full)}.` };
  return { level: "warn", text: `Running late: ${upTo(status.due, status.counted_up_to)} due, the oldest for ${duration(late)}.` };
}
