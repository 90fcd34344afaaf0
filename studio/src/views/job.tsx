import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api, now, type Failure, type Job } from "../api.ts";
import { encode } from "../json.ts";
import { useLive, useSeconds } from "../live.ts";
import { copy, useActing } from "../parts/acting.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { JsonView } from "../parts/json_view.tsx";
import { Heading } from "../parts/layout.tsx";
import { Empty, ErrorNote, Waiting } from "../parts/notes.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { href, Link, navigate } from "../router.tsx";
import { curl } from "../shell.ts";
import { LongText } from "../text.tsx";
import { count, duration, plural } from "../times.ts";
import { atRest, FunctionName } from "./job_facts.tsx";
import { callOf, ScheduleAgain } from "./schedule_again.tsx";

type Question = "cancel" | "drop" | "again" | null;

export function JobPage({ id }: { id: string }) {
  useSeconds();
  const { data: job, error, reload } = useLive(() => api.job(id), `job ${id}`, 10_000);
  const [question, setQuestion] = useState<Question>(null);
  const { act, busy } = useActing(reload);
  const [seen, setSeen] = useState(false);
  if (job !== null && !seen) setSeen(true);

  if (error && job === null) return <><Heading title="Job" /><ErrorNote error={error} again={reload} /></>;
  if (job === null)
    return (
      <>
        <Heading title="Job" />
        <Missing id={id} load={() => api.job(id)} />
      </>
    );

  const cancel = () => act(async () => ((await api.cancel(id)).cancelled ? "Cancelled." : { text: "It has come to rest already.", bad: true }));
  const runNow = () => act(async () => ((await api.runNow(id)).due ? "It is due now." : { text: "It does not wait any more.", bad: true }));
  const retry = () => act(async () => ((await api.retry(id)).retried ? "It is tried again, with all its attempts." : { text: "It is no dead letter any more.", bad: true }));
  const drop = () =>
    act(async () => {
      const { removed } = await api.drop(id);
      if (removed) navigate(href("/dead"));
      return removed ? "Dropped." : { text: "It is no dead letter any more.", bad: true };
    });
  const copyCurl = () =>
    act(async () => {
      await copy(curl("/scheduled/schedule", encode(callOf(job))));
      return "Copied. It needs the variable LUNORA_ADMIN_TOKEN.";
    });

  return (
    <>
      <Heading title={job.target}>
        {job.state === "pending" && <button type="button" class="main" disabled={busy} onClick={() => void runNow()}>Run now</button>}
        {job.state === "dead" && <button type="button" class="main" disabled={busy} onClick={() => void retry()}>Retry</button>}
        {!atRest(job) && !job.cancel_requested && <button type="button" disabled={busy} onClick={() => setQuestion("cancel")}>Cancel</button>}
        {job.state === "dead" && <button type="button" disabled={busy} onClick={() => setQuestion("drop")}>Drop</button>}
        <button type="button" onClick={() => setQuestion("again")}>Schedule again</button>
        <button type="button" onClick={() => void copyCurl()}>Copy as curl</button>
      </Heading>
      {error && <ErrorNote error={error} again={reload} />}
      <Verdict job={job} />
      <div class="columns job">
        <section class="panel">
          <h2>Arguments</h2>
          <JsonView value={job.args} label="Arguments" />
        </section>
        <section class="panel">
          <h2>What happened</h2>
          <Timeline job={job} />
        </section>
      </div>
      <section class="panel">
        <h2>Details</h2>
        <Facts job={job} />
      </section>
      {question === "cancel" && (
        <Confirm title="Cancel this job?" action="Cancel the job" danger close={() => setQuestion(null)} confirm={() => void cancel()}>
          <p class="muted">{job.state === "running" ? "Its attempt is under way and goes on to its end; it is not tried again." : "It will not run."}</p>
        </Confirm>
      )}
      {question === "drop" && (
        <Confirm title="Drop this dead letter?" action="Drop 1 job" danger close={() => setQuestion(null)} confirm={() => void drop()}>
          <p class="muted">The job and its errors are deleted for good.</p>
        </Confirm>
      )}
      {question === "again" && <ScheduleAgain job={job} close={() => setQuestion(null)} />}
    </>
  );
}

function Missing({ id, load }: { id: string; load: () => Promise<Job | null> }) {
  const { data, error } = useLive(async () => ({ job: await load() }), `missing ${id}`);
  if (data === null && error === null) return <Waiting />;
  return (
    <Empty title="There is no such job">
      It may have been dropped, or pruned after its time: ended jobs stay for a week, dead letters for 90 days.{" "}
      <Link to={href("/jobs")}>All jobs</Link>
    </Empty>
  );
}

/** How it stands, in one sentence; why it failed comes first. */
function Verdict({ job }: { job: Job }) {
  const at = now();
  let text: ComponentChildren;
  if (job.state === "dead")
    text = job.attempts === 0 ? "Never tried: it could not be taken." : `Gave up after ${plural(job.attempts, "attempt")}.`;
  else if (job.state === "running") text = <>{job.cancel_requested ? "Cancelled; its attempt goes on to its end." : `Attempt ${count(job.attempts)} is under way`}{job.started !== null && !job.cancel_requested && ` since ${duration(at - job.started)}, of at most ${duration(job.timeout_ms)}.`}</>;
  else if (job.state === "pending") text = pendingText(job, at);
  else if (job.state === "succeeded") text = `Succeeded${job.started !== null && job.ended !== null ? ` in ${duration(job.ended - job.started)}` : ""}${job.attempts > 1 ? `, at attempt ${count(job.attempts)}` : ""}.`;
  else if (job.state === "expired") text = "Skipped: its time had passed before it could run.";
  else text = "Cancelled: it does not run any more.";
  return (
    <div class={`verdict ${job.state}`} role="status">
      <State of={job.state} />
      <p>{text}</p>
      {job.error_code !== null && job.state !== "succeeded" && (
        <p class="error-text">
          <strong>{job.error_code}</strong> <LongText text={job.error_message ?? ""} limit={600} />
        </p>
      )}
    </div>
  );
}

function pendingText(job: Job, at: number): string {
  const again = job.attempts > 0 ? `Attempt ${count(job.attempts)} failed; the next one` : "It";
  if (job.due > at) return `${again} is due in ${duration(job.due - at)}.`;
  return `${again} has been due for ${duration(at - job.due)}${job.pool === null ? "" : `, and waits for room in the pool ${job.pool}`}.`;
}

function Timeline({ job }: { job: Job }) {
  const failures = [...job.failures].reverse();
  const hidden = job.attempts - failures.length - (job.state === "running" || job.state === "succeeded" ? 1 : 0);
  return (
    <ol class="timeline">
      <li class="plain">
        <p>Scheduled <Time at={job.created} />{job.scheduled_for > job.created + 1_000 && <> to run {duration(job.scheduled_for - job.created)} later</>}</p>
      </li>
      {job.redrives > 0 && <li class="plain"><p>Retried by hand {count(job.redrives)}×</p></li>}
      {hidden > 0 && <li class="plain muted"><p>{plural(hidden, "earlier attempt")} of which nothing is kept</p></li>}
      {failures.map((failure) => <Attempt key={failure.number} failure={failure} />)}
      {job.state === "running" && <li class="running"><p>Attempt {count(job.attempts)} began <Time at={job.started} /></p></li>}
      {job.state === "succeeded" && <li class="succeeded"><p>Succeeded <Time at={job.ended} />{job.started !== null && job.ended !== null && <span class="muted"> · took {duration(job.ended - job.started)}</span>}</p></li>}
      {job.state === "dead" && <li class="dead"><p>Became a dead letter <Time at={job.ended} /></p></li>}
      {job.state === "canceled" && <li class="canceled"><p>Cancelled <Time at={job.ended} /></p></li>}
      {job.state === "expired" && <li class="canceled"><p>Expired <Time at={job.ended} /></p></li>}
      {job.state === "pending" && <li class="pending"><p>{job.attempts === 0 ? "First attempt" : `Attempt ${count(job.attempts + 1)}`} due <Time at={job.due} /></p></li>}
    </ol>
  );
}

const ENDED: { [outcome: string]: string } = {
  failed: "failed",
  unknown: "was lost, nobody knows how it ended,",
  unavailable: "found no such function, which may be a deploy under way,",
  never_began: "never began, and does not count,",
};

function Attempt({ failure }: { failure: Failure }) {
  return (
    <li class="failed">
      <p>
        Attempt {count(failure.number)} {ENDED[failure.outcome ?? "failed"] ?? "failed"} <Time at={failure.ended} />
        {failure.started !== null && <span class="muted"> · took {duration(failure.ended - failure.started)}</span>}
      </p>
      <p class="error-text"><strong>{failure.code}</strong> <LongText text={failure.message} limit={600} /></p>
      {failure.traceback && (
        <details>
          <summary>Traceback</summary>
          <pre tabIndex={0} aria-label={`Traceback of attempt ${failure.number}`}><LongText text={failure.traceback} limit={8_000} /></pre>
        </details>
      )}
    </li>
  );
}

function Facts({ job }: { job: Job }) {
  const { retry } = job;
  const facts: [string, ComponentChildren][] = [
    ["Id", <code class="id">{job.id}</code>],
    ["Function", <Link to={href("/jobs", { function: job.target })}><FunctionName of={job.target} /></Link>],
    ["Scheduled", <Time at={job.created} />],
    ["First due", <Time at={job.scheduled_for} />],
    ["Attempts", `${count(job.charged)} of at most ${count(retry.max_attempts + 1)}${job.attempts > job.charged ? `, and ${count(job.attempts - job.charged)} that ${job.attempts - job.charged === 1 ? "does" : "do"} not count` : ""}`],
    ["Retries", `${retry.backoff}, from ${duration(retry.base_ms)}`],
    ["Timeout", duration(job.timeout_ms)],
    ["Pool", job.pool === null ? <span class="none">none</span> : <Link to={href("/jobs", { pool: job.pool })}>{job.pool}</Link>],
    ["Shard", job.shard_key ?? <span class="none">default</span>],
    ["Priority", count(job.priority)],
    ...(job.tags?.length ? ([["Tags", <span class="tags">{job.tags.map((tag) => <Link key={tag} to={href("/jobs", { tag })}>{tag}</Link>)}</span>]] as [string, ComponentChildren][]) : []),
    ...(job.expires_at ? ([["Expires", <Time at={job.expires_at} />]] as [string, ComponentChildren][]) : []),
    ...(job.on_complete ? ([["When it ends", <FunctionName of={job.on_complete} />]] as [string, ComponentChildren][]) : []),
    ["Incarnation", <code class="id">{job.incarnation}</code>],
  ];
  return <dl class="facts">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}
