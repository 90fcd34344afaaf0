// The admin API, as it is documented: nothing here goes another way. The browser adds the session's cookie.
import { decode, encode, type Json } from "./json.ts";

const PREFIX = "/_lunora/admin/v1";
const SESSION = "/_lunora/studio/session";

export type State = "pending" | "running" | "succeeded" | "dead" | "canceled" | "expired";

export interface Retry {
  max_attempts: number;
  backoff: string;
  base_ms: number;
  max_ms: number | null;
  jitter?: Json;
}

export interface Failure {
  number: number;
  dispatch: string | null;
  started: number | null;
  ended: number;
  code: string;
  message: string;
  outcome?: string | null;
  traceback?: string | null;
}

export interface Job {
  id: string;
  incarnation: string;
  target: string;
  args: Json;
  state: State;
  due: number;
  scheduled_for: number;
  created: number;
  retry: Retry;
  timeout_ms: number;
  shard_key: string | null;
  pool: string | null;
  priority: number;
  tags?: string[] | null;
  expires_at?: number | null;
  on_complete?: string | null;
  attempts: number;
  charged: number;
  redrives: number;
  cancel_requested: boolean;
  started: number | null;
  ended: number | null;
  error_code: string | null;
  error_message: string | null;
  failures: Failure[];
}

export interface Pool {
  name: string;
  max_concurrency: number;
  paused: boolean;
  in_flight: number;
  queued: number;
}

export interface Status {
  now: number;
  backlog: number;
  due: number;
  in_flight: number;
  dead: number;
  counted_up_to: number;
  next_due: number | null;
  alarm: number | null;
  origin: {
    url: string | null;
    reachable: boolean;
    reason: string | null;
    unreachable_since: number | null;
    next_probe: number | null;
    failed_probes: number;
  };
  pools: Pool[];
}

export interface CronRun {
  name: string;
  scheduled_for: number;
  trigger: "cron" | "manual";
  started: number;
  ended: number | null;
  outcome: "running" | "succeeded" | "failed" | "skipped";
  error_code: string | null;
  error_message: string | null;
  job: string | null;
}

export interface Cron {
  name: string;
  cron: string;
  english: string;
  target: string;
  args: Json;
  overlap: string;
  next: string | null;
  last_run: CronRun | null;
}

export interface Spread {
  p50: number | null;
  p99: number | null;
  max: number | null;
}

export interface Minute {
  minute: number;
  scheduled: number;
  started: number;
  succeeded: number;
  failed: number;
  dead: number;
  lateness: Spread;
}

export interface Group {
  target: string;
  error_code: string | null;
  count: number;
  newest: number;
  example_id: string;
  example_message: string | null;
}

export interface Fires {
  now: number;
  jobs: { name: string; next: number[] }[];
  minutes: [number, number][];
  truncated: boolean;
}

export interface LunoraFunction {
  path: string;
  kind: string;
  visibility: string;
  args_schema: { [key: string]: Json } | null;
  problem?: string | null;
}

export interface Page {
  records: Job[];
  cursor?: string;
  truncated: boolean;
}

export type Bulk = { changed: number; cursor: string | null };

/** What the API refuses, or what kept us from reaching it. `status` is 0 then. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** How far the scheduler's clock is ahead of ours, in milliseconds. */
let ahead = 0;
export const now = (): number => Date.now() + ahead;

const forbidden = new Set<() => void>();
/** Be told when the session has ended. */
export function onForbidden(listener: () => void): () => void {
  forbidden.add(listener);
  return () => forbidden.delete(listener);
}

async function request(method: string, path: string, body?: unknown): Promise<Json> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      credentials: "same-origin",
      ...(body === undefined
        ? {}
        : { body: encode(body), headers: { "content-type": "application/json" } }),
    });
  } catch {
    throw new ApiError(0, "UNREACHABLE", "the Worker does not answer; is it still running, and are you online?");
  }
  const text = await answer.text();
  let value: Json;
  try {
    value = decode(text);
  } catch {
    throw new ApiError(answer.status, "NO_ANSWER", `the Worker answered ${answer.status} and nothing that can be read`);
  }
  if (answer.ok) return value;
  const { code = "UNKNOWN", message = "" } = (value as { error?: { code?: string; message?: string } }).error ?? {};
  if (code === "ADMIN_FORBIDDEN" && !path.startsWith(SESSION)) for (const listener of forbidden) listener();
  throw new ApiError(answer.status, code, message);
}

type Query = { [name: string]: string | number | null | undefined | string[] };

function withQuery(path: string, query: Query): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const each of value) fields.append(name, each);
    else if (value !== null && value !== undefined && value !== "") fields.set(name, String(value));
  }
  const text = fields.toString();
  return text ? `${path}?${text}` : path;
}

async function read<T>(path: string, query: Query = {}): Promise<T> {
  return (await request("GET", withQuery(PREFIX + path, query))) as unknown as T;
}

async function write<T>(path: string, body: unknown): Promise<T> {
  return (await request("POST", PREFIX + path, body)) as unknown as T;
}

export const session = {
  look: async () => (await request("GET", SESSION)) as { until: number | null },
  begin: async (token: string) => (await request("POST", SESSION, { token })) as { until: number | null },
  end: async () => request("DELETE", SESSION),
};

export interface Filters {
  state?: string | undefined;
  function?: string | undefined;
  pool?: string | undefined;
  tag?: string | undefined;
  id_prefix?: string | undefined;
  error?: string | undefined;
  created_from?: number | undefined;
  created_before?: number | undefined;
  order?: "newest" | "soonest" | undefined;
}

export const api = {
  async status(): Promise<Status> {
    const status = await read<Status>("/scheduled/status");
    ahead = status.now - Date.now();
    return status;
  },
  jobs: (filters: Filters, cursor: string | null, limit: number) =>
    read<Page>("/scheduled/jobs", { ...filters, cursor, limit }),
  count: (filters: Filters) => {
    const { order: _, ...conditions } = filters;
    return read<{ count: number; exact: boolean }>("/scheduled/count", { ...conditions });
  },
  job: async (id: string) => (await read<{ record: Job | null }>("/scheduled/get", { id })).record,
  statistics: (minutes: number) => read<{ now: number; minutes: Minute[] }>("/scheduled/statistics", { minutes }),
  groups: () => read<{ groups: Group[]; exact: boolean }>("/scheduled/dead/groups"),
  pools: () => read<{ pools: Pool[]; truncated: boolean }>("/scheduled/pools"),
  crons: async () => (await read<{ jobs: Cron[] }>("/cron-jobs")).jobs,
  runs: async () => (await read<{ runs: CronRun[] }>("/cron-jobs/runs", { limit: 100 })).runs,
  fires: () => read<Fires>("/cron-jobs/fires"),
  functions: async () => (await read<{ functions: LunoraFunction[] }>("/functions")).functions,

  cancel: (id: string) => write<{ cancelled: boolean }>("/scheduled/cancel", { id }),
  runNow: (id: string) => write<{ id: string; due: boolean }>("/scheduled/run-now", { id }),
  retry: (id: string) => write<{ retried: boolean }>("/scheduled/dead/retry", { id }),
  drop: (id: string) => write<{ removed: boolean }>("/scheduled/dead/cancel", { id }),
  bulk: (change: "retry" | "drop", filter: object, cursor: string | null, dryRun: boolean) =>
    write<Bulk>(change === "retry" ? "/scheduled/dead/retry-many" : "/scheduled/dead/cancel-many", {
      filter,
      ...(cursor === null ? {} : { cursor }),
      limit: 250,
      dry_run: dryRun,
    }),
  schedule: (target: string, args: Json, more: object) => write<{ id: string }>("/scheduled/schedule", { target, args, ...more }),
  run: (path: string, args: Json) => write<{ value: Json }>("/run", { path, args }),
  pausePool: (name: string) => write<{ pool: Pool }>("/scheduled/pools/pause", { name }),
  resumePool: (name: string) => write<{ pool: Pool }>("/scheduled/pools/resume", { name }),
  capPool: (name: string, cap: number) => write<{ pool: Pool }>("/scheduled/pools/cap", { name, max_concurrency: cap }),
  runCron: (name: string) => write<{ ran: boolean; reason?: string }>("/cron-jobs/run", { name }),
};
