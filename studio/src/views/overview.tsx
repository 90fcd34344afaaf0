import { api, ApiError, now, type Job, type Minute, type Status } from "../api.ts";
import { health, LATE_MS } from "../health.ts";
import { useLive, useSeconds } from "../live.ts";
import { Chart } from "../parts/chart.tsx";
import { Heading } from "../parts/layout.tsx";
import { Empty, ErrorNote } from "../parts/notes.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { href, Link } from "../router.tsx";
import { duration, exact, relative, upTo } from "../times.ts";
import { FunctionName } from "./job_facts.tsx";

const MINUTES = 60;

interface Seen {
  status: Status;
  minutes: Minute[] | ApiError;
  running: Job[];
  dead: Job[];
}

async function load(): Promise<Seen> {
  const [status, minutes, running, dead] = await Promise.all([
    api.status(),
    api.statistics(MINUTES).then(
      ({ minutes: told }) => told,
      (error: ApiError) => error,
    ),
    api.jobs({ state: "running" }, null, 6),
    api.jobs({ state: "dead" }, null, 6),
  ]);
  return { status, minutes, running: running.records, dead: dead.records };
}

export function Overview() {
  useSeconds();
  const { data, error, reload } = useLive(load, "overview", 10_000);
  const at = now();
  const sentence = data === null ? null : health(data.status, at);
  return (
    <>
      <Heading title="Overview" />
      {error && <ErrorNote error={error} again={reload} />}
      <p class={`health ${sentence?.level ?? "asking"}`} role="status">
        {sentence?.text ?? "Asking the scheduler…"}
      </p>
      <Tiles status={data?.status ?? null} at={at} />
      <div class="columns">
        <Plots minutes={data?.minutes ?? null} />
      </div>
      <div class="columns">
        <section class="panel">
          <h2>Running now</h2>
          {data && <Few jobs={data.running} none="Nothing runs at the moment." />}
        </section>
        <section class="panel">
          <h2>Newest dead letters</h2>
          {data && <Few jobs={data.dead} none="None: whatever was tried has come to a good end." />}
        </section>
      </div>
      {data && isNew(data) && (
        <Empty title="Nothing has been scheduled yet" code={FIRST_JOB}>
          Schedule the first job from any function, and it appears here.
        </Empty>
      )}
    </>
  );
}

const FIRST_JOB = `@mutation
def start_trial(ctx: MutationContext, user_id: str) -> str:
    return ctx.scheduler.run_after(timedelta(days=14), internal.billing.end_trial, {"user_id": user_id})`;

function isNew({ status, minutes, running, dead }: Seen): boolean {
  const quiet = minutes instanceof ApiError || minutes.every((minute) => minute.scheduled + minute.started === 0);
  return quiet && status.backlog === 0 && running.length === 0 && dead.length === 0;
}

function Tiles({ status, at }: { status: Status | null; at: number }) {
  const limit = status?.counted_up_to ?? 0;
  const late = status?.next_due != null && at - status.next_due > LATE_MS ? at - status.next_due : null;
  const origin = status?.origin;
  return (
    <dl class="tiles">
      <Tile name="Backlog" to={href("/jobs", { state: "pending" })} value={status && upTo(status.backlog, limit)} note="waiting for their time or their turn" />
      <Tile name="Running" to={href("/jobs", { state: "running" })} value={status && upTo(status.in_flight, limit)} note="attempts under way" />
      <Tile name="Due" to={href("/jobs", { state: "pending", order: "soonest" })} value={status && upTo(status.due, limit)} note={late === null ? "none late" : `the oldest late by ${duration(late)}`} tone={late === null ? "" : "warn"} />
      <Tile name="Dead" to={href("/dead")} value={status && upTo(status.dead, limit)} note="used up their attempts" tone={status && status.dead > 0 ? "bad" : ""} />
      <Tile name="Next due" value={status && (status.next_due === null ? "–" : relative(status.next_due, at))} title={status?.next_due} note="the earliest waiting job" />
      <Tile name="Alarm" value={status && (status.alarm === null ? "–" : relative(status.alarm, at))} title={status?.alarm} note="when the scheduler wakes by itself" />
      <Tile name="Origin" value={origin && (origin.url === null ? "not set" : origin.reachable ? "reachable" : "unreachable")} tone={origin && (origin.url === null || !origin.reachable) ? "bad" : ""} note={originNote(status, at)} />
    </dl>
  );
}

function originNote(status: Status | null, at: number): string {
  if (status === null) return "";
  const { url, reachable, reason, next_probe } = status.origin;
  if (url === null) return "LUNORA_ORIGIN_URL is missing";
  if (reachable) return url.replace(/^https?:\/\//, "");
  return `${reason ?? "no answer"}${next_probe === null ? "" : `; asked again ${relative(next_probe, at)}`}`;
}

interface TileProps {
  name: string;
  value: string | null | undefined;
  note: string;
  to?: string;
  tone?: string;
  title?: number | null | undefined;
}

function Tile({ name, value, note, to, tone = "", title }: TileProps) {
  return (
    <div class={`tile ${tone}`}>
      <dt>{to ? <Link to={to}>{name}</Link> : name}</dt>
      <dd class="value" title={title ? exact(title) : undefined}>
        {value ?? "…"}
      </dd>
      <dd class="muted note-line" title={note}>
        {note}
      </dd>
    </div>
  );
}

function Plots({ minutes }: { minutes: Minute[] | ApiError | null }) {
  if (minutes instanceof ApiError)
    return (
      <section class="panel">
        <h2>The last hour</h2>
        <ErrorNote error={minutes} />
      </section>
    );
  const seen = minutes ?? [];
  const times = seen.map((minute) => minute.minute);
  return (
    <>
      <section class="panel">
        <Chart
          label="Attempts a minute"
          times={times}
          show={(value) => String(Math.round(value))}
          series={[
            { name: "failed", colour: "bad", values: seen.map((minute) => minute.failed), heights: seen.map((minute) => minute.succeeded + minute.failed), bars: true },
            { name: "succeeded", colour: "good", values: seen.map((minute) => minute.succeeded), bars: true },
          ]}
        />
      </section>
      <section class="panel">
        <Chart
          label="Lateness"
          times={times}
          show={duration}
          series={[
            { name: "half within", colour: "accent", values: seen.map((minute) => minute.lateness.p50) },
            { name: "99 % within", colour: "warn", values: seen.map((minute) => minute.lateness.p99) },
          ]}
        />
      </section>
    </>
  );
}

function Few({ jobs, none }: { jobs: Job[]; none: string }) {
  if (jobs.length === 0) return <p class="muted">{none}</p>;
  return (
    <ul class="few">
      {jobs.slice(0, 5).map((job) => (
        <li key={job.id}>
          <Link to={href("/job", { id: job.id })}>
            <FunctionName of={job.target} />
          </Link>
          <span class="muted">
            {job.error_code && job.state === "dead" ? `${job.error_code} · ` : ""}
            <Time at={job.state === "dead" ? job.ended : job.started} />
          </span>
          <State of={job.state} />
        </li>
      ))}
      {jobs.length > 5 && (
        <li>
          <Link to={jobs[0]?.state === "dead" ? href("/dead") : href("/jobs", { state: "running" })}>All of them</Link>
        </li>
      )}
    </ul>
  );
}
