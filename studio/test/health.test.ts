import assert from "node:assert/strict";
import test from "node:test";
import type { Pool, Status } from "../src/api.ts";
import { health } from "../src/health.ts";

const NOW = new Date(2026, 10, 30, 14, 0).getTime();

function status(change: Partial<Status> = {}, origin: Partial<Status["origin"]> = {}): Status {
  return {
    now: NOW, backlog: 0, due: 0, in_flight: 0, dead: 0, counted_up_to: 10_000, next_due: null, alarm: null, pools: [],
    ...change,
    origin: { url: "https://a.example.com", reachable: true, reason: null, unreachable_since: null, next_probe: null, failed_probes: 0, ...origin },
  };
}

const pool = (change: Partial<Pool>): Pool => ({ name: "emails", max_concurrency: 2, paused: false, in_flight: 2, queued: 9, ...change });

const cases: [string, Status, string, RegExp][] = [
  ["nothing at all", status(), "good", /^All good: nothing running, nothing scheduled\.$/],
  ["a quiet day", status({ in_flight: 3, next_due: NOW + 300_000 }), "good", /^All good: 3 running, next at 14:05\.$/],
  ["a job on its way", status({ due: 1, next_due: NOW - 2_000 }), "good", /the next one is due/],
  ["late", status({ due: 12, next_due: NOW - 240_000 }), "warn", /^Running late: 12 due, the oldest for 4 min\.$/],
  ["dead letters", status({ dead: 1 }), "warn", /^On time: .* 1 dead letter waits for a decision\.$/],
  ["more than are counted", status({ dead: 10_000 }), "warn", /10,000\+ dead letters wait/],
  ["late and dead letters", status({ dead: 2, due: 1, next_due: NOW - 60_000 }), "warn", /^Running late: .*2 dead letters wait/],
  ["a full pool", status({ in_flight: 2, due: 9, next_due: NOW - 60_000, pools: [pool({})] }), "good", /^Busy: 2 running, 9 waiting for room in emails\.$/],
  ["a pool that is full for long", status({ due: 9, next_due: NOW - 3_600_000, pools: [pool({})] }), "warn", /^Running late/],
  ["a paused pool", status({ due: 9, next_due: NOW - 60_000, pools: [pool({ paused: true })] }), "warn", /^On hold: 9 jobs in the paused pool emails\.$/],
  ["a paused pool and others late", status({ due: 50, next_due: NOW - 60_000, pools: [pool({ paused: true })] }), "warn", /^Running late/],
  ["no origin", status({}, { url: null }), "bad", /LUNORA_ORIGIN_URL is not set/],
  ["an origin that does not answer", status({ due: 5 }, { reachable: false, unreachable_since: NOW - 120_000 }), "bad", /has not answered for 2 min/],
];

for (const [name, given, level, text] of cases)
  test(`health: ${name}`, () => {
    const told = health(given, NOW);
    assert.equal(told.level, level);
    assert.match(told.text, text);
  });
