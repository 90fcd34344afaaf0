import { useState } from "preact/hooks";
import { api, ApiError, now, type Cron, type CronRun, type Fires } from "../api.ts";
import { useLive, useSeconds } from "../live.ts";
import { useActing } from "../parts/acting.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { Heading } from "../parts/layout.tsx";
import { Empty, ErrorNote, Waiting } from "../parts/notes.tsx";
import { Time } from "../parts/time.tsx";
import { href, Link } from "../router.tsx";
import { visible } from "../text.tsx";
import { clock, duration, exact, plural, relative, utc } from "../times.ts";
import { FunctionName } from "./job_facts.tsx";

interface Seen {
  crons: Cron[];
  runs: Map<string, CronRun[]>;
  fires: Fires | ApiError;
}

async function load(): Promise<Seen> {
  const [crons, runs, fires] = await Promise.all([api.crons(), api.runs().catch(() => []), api.fires().catch((error: ApiError) => error)]);
  const byName = new Map<string, CronRun[]>();
  for (const run of runs) byName.set(run.name, [...(byName.get(run.name) ?? []), run]);
  for (const cron of crons) if (cron.last_run !== null && !byName.has(cron.name)) byName.set(cron.name, [cron.last_run]);
  return { crons, runs: byName, fires };
}

/** How a cron job is doing, by its last runs. */
function standing(runs: CronRun[]): "failing" | "overlapping" | "fine" {
  const [last] = runs;
  if (last?.outcome === "failed") return "failing";
  return last?.outcome === "skipped" || runs.filter((run) => run.outcome === "running").length > 1 ? "overlapping" : "fine";
}

export function Crons() {
  useSeconds();
  const { data, error, reload } = useLive(load, "crons", 10_000);
  const [asked, setAsked] = useState<Cron | null>(null);
  const { act, busy } = useActing(reload);
  const runNow = (cron: Cron) =>
    act(async () => {
      const { ran, reason } = await api.runCron(cron.name);
      return ran ? `${cron.name} has run.` : { text: `${cron.name} did not run: ${reason ?? "it was skipped"}.`, bad: true };
    });
  return (
    <>
      <Heading title="Crons" />
      {error && <ErrorNote error={error} again={reload} />}
      {data === null && !error && <Waiting />}
      {data && data.crons.length === 0 && (
        <Empty title="There are no cron jobs" code={EXAMPLE}>
          Declare them in <code>lunora/crons.py</code>; <code>lunora dev</code> and <code>lunora deploy</code> do the rest.
        </Empty>
      )}
      {data && data.crons.length > 0 && (
        <>
          <Day fires={data.fires} />
          <ul class="crons">
            {data.crons.map((cron) => (
              <Item key={cron.name} cron={cron} runs={data.runs.get(cron.name) ?? []} fires={data.fires instanceof ApiError ? [] : (data.fires.jobs.find((job) => job.name === cron.name)?.next ?? [])} busy={busy} ask={() => setAsked(cron)} />
            ))}
          </ul>
        </>
      )}
      {asked && (
        <Confirm title={`Run ${asked.name} now?`} action="Run it now" close={() => setAsked(null)} confirm={() => void runNow(asked)}>
          <p><FunctionName of={asked.target} /></p>
          <p class="muted">It runs beside its schedule, which stays as it is.</p>
        </Confirm>
      )}
    </>
  );
}

const EXAMPLE = `crons = cron_jobs()
crons.daily("digest", {"hour_utc": 8, "minute_utc": 0}, internal.digest.send)`;

function Item({ cron, runs, fires, busy, ask }: { cron: Cron; runs: CronRun[]; fires: number[]; busy: boolean; ask: () => void }) {
  const how = standing(runs);
  const next = fires[0] ?? (cron.next === null ? null : Date.parse(cron.next));
  return (
    <li class={`panel cron ${how}`}>
      <div class="cron-head">
        <h2>{visible(cron.name)}</h2>
        {how !== "fine" && <span class={`state ${how}`}>{how}</span>}
        <button type="button" class="quiet" disabled={busy} onClick={ask} aria-label={`Run now: ${cron.name}`}>Run now</button>
      </div>
      <p>{cron.english}</p>
      <p class="muted"><code>{cron.cron}</code> · <Link to={href("/jobs", { function: cron.target })}><FunctionName of={cron.target} /></Link></p>
      <Strip runs={runs} />
      {how === "failing" && runs[0] && <p class="error-text"><strong>{visible(runs[0].error_code ?? "")}</strong> <span class="clip">{visible((runs[0].error_message ?? "").slice(0, 300))}</span></p>}
      <details>
        <summary>Next {next === null ? "never" : <time dateTime={new Date(next).toISOString()} title={exact(next)}>{relative(next, now())}</time>}</summary>
        {fires.length > 0 ? (
          <ol class="fires">
            {fires.map((at) => <li key={at}><span>{utc(at)}</span> <span class="muted">{clock(at, now())} here</span></li>)}
          </ol>
        ) : next !== null && <p class="fires">{utc(next)} <span class="muted">{clock(next, now())} here</span></p>}
      </details>
    </li>
  );
}

const STRIP = 20;

function Strip({ runs }: { runs: CronRun[] }) {
  if (runs.length === 0) return <p class="strip muted">It has not run yet.</p>;
  const shown = runs.slice(0, STRIP).reverse();
  const last = runs[0]!;
  return (
    <div class="strip">
      <span class="marks" role="img" aria-label={`The last ${plural(shown.length, "run")}, oldest first: ${shown.map((run) => run.outcome).join(", ")}`}>
        {shown.map((run) => <i key={`${run.started} ${run.scheduled_for}`} class={run.outcome} title={`${run.outcome}, ${exact(run.started)}${run.ended === null ? "" : `, took ${duration(run.ended - run.started)}`}`} />)}
      </span>
      <span class="muted">{last.outcome} <Time at={last.started} />{last.ended !== null && ` · ${duration(last.ended - last.started)}`}</span>
    </div>
  );
}

const QUARTER = 15 * 60_000;

/** The next day in quarters of an hour: where many fire in the same minute it shows, at :00 as a rule. */
function Day({ fires }: { fires: Fires | ApiError }) {
  if (fires instanceof ApiError) return null;
  const begin = Math.floor(fires.now / QUARTER) * QUARTER;
  const slots = Array.from({ length: 96 }, (_, index) => ({ at: begin + index * QUARTER, most: 0, worst: 0 }));
  for (const [at, number] of fires.minutes) {
    const slot = slots[Math.floor((at - begin) / QUARTER)];
    if (slot && number > slot.most) Object.assign(slot, { most: number, worst: at });
  }
  const top = Math.max(4, ...slots.map((slot) => slot.most));
  const peak = slots.reduce((one, other) => (other.most > one.most ? other : one));
  return (
    <section class="panel day" aria-label="The next 24 hours">
      <h2>The next 24 hours</h2>
      <p class="muted">{peak.most > 1 ? `At most ${peak.most} fire in one minute, at ${clock(peak.worst, now())}.${new Date(peak.worst).getUTCMinutes() === 0 ? " Another minute than :00 would spread them." : ""}` : "No two fire in the same minute."}</p>
      <div class="slots" role="img" aria-label={`Fires of the next 24 hours; at most ${peak.most} in one minute`}>
        {slots.map((slot) => (
          <span key={slot.at} title={slot.most === 0 ? clock(slot.at, now()) : `${clock(slot.worst, now())}: ${plural(slot.most, "cron job")}`}>
            <i class={slot.most > 1 ? "many" : "one"} style={{ height: `${(slot.most / top) * 100}%` }} />
          </span>
        ))}
      </div>
      <div class="hours muted" aria-hidden="true">
        {[0, 24, 48, 72].map((index) => <span key={index}>{clock(slots[index]!.at, now())}</span>)}
      </div>
    </section>
  );
}
