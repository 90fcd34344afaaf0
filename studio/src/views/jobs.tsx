import { useEffect, useState } from "preact/hooks";
import { api, type Filters, type Job, type State as JobState } from "../api.ts";
import { useLive, useSeconds } from "../live.ts";
import { useActing } from "../parts/acting.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { Heading } from "../parts/layout.tsx";
import { Empty, ErrorNote, Waiting } from "../parts/notes.tsx";
import { State } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { href, Link, navigate } from "../router.tsx";
import { count } from "../times.ts";
import { FunctionName, When } from "./job_facts.tsx";

const PAGE = 50;
const STATES: JobState[] = ["pending", "running", "succeeded", "dead", "canceled", "expired"];
const SPANS: [string, string][] = [
  ["", "any time"],
  ["3600000", "the last hour"],
  ["86400000", "the last day"],
  ["604800000", "the last week"],
];
const FIELDS = ["state", "function", "pool", "tag", "id", "since", "order"] as const;

function filtersOf(query: URLSearchParams): Filters {
  const since = Number(query.get("since"));
  return {
    state: query.get("state") || undefined,
    function: query.get("function") || undefined,
    pool: query.get("pool") || undefined,
    tag: query.get("tag") || undefined,
    id_prefix: query.get("id") || undefined,
    // to the minute: the next page is to be of the same list
    created_from: since > 0 ? Math.floor((Date.now() - since) / 60_000) * 60_000 : undefined,
    order: query.get("order") === "soonest" ? "soonest" : "newest",
  };
}

export function Jobs({ query }: { query: URLSearchParams }) {
  useSeconds();
  const [asked, setAsked] = useState<Job | null>(null);
  const cursor = query.get("cursor");
  const filtered = FIELDS.some((name) => name !== "order" && query.get(name));
  const { data, error, reload } = useLive(() => api.jobs(filtersOf(query), cursor, PAGE), `jobs ${query}`);
  const { act, busy } = useActing(reload);

  const cancel = (job: Job) =>
    act(async () => ((await api.cancel(job.id)).cancelled ? `Cancelled ${job.id}.` : { text: `${job.id} has come to rest already.`, bad: true }));
  const runNow = (job: Job) =>
    act(async () => ((await api.runNow(job.id)).due ? `${job.id} is due now.` : { text: `${job.id} does not wait any more.`, bad: true }));
  const retry = (job: Job) =>
    act(async () => ((await api.retry(job.id)).retried ? `${job.id} is tried again.` : { text: `${job.id} is no dead letter any more.`, bad: true }));

  return (
    <>
      <Heading title="Jobs">
        <Count query={query} />
      </Heading>
      <FilterBar query={query} />
      {error && <ErrorNote error={error} again={reload} />}
      {data === null && !error && <Waiting rows={10} />}
      {data && data.records.length > 0 && (
        <Table
          label="Jobs"
          rows={data.records}
          key_={(job) => job.id}
          columns={[
            { name: "State", cell: (job) => <State of={job.cancel_requested ? "canceled" : job.state} {...(job.cancel_requested ? { title: "Cancelled while running: the attempt goes on, and nothing is retried" } : {})} /> },
            { name: "Function", wide: true, cell: (job) => <Link to={href("/job", { id: job.id })}><FunctionName of={job.target} /></Link> },
            { name: "When", cell: (job) => <When job={job} /> },
            { name: "Pool", cell: (job) => (job.pool === null ? <span class="none">–</span> : <Link to={href("/jobs", { pool: job.pool })}>{job.pool}</Link>) },
            { name: "Attempts", number: true, cell: (job) => `${count(job.attempts)} / ${count(job.retry.max_attempts + 1)}` },
            { name: "Id", cell: (job) => <code class="id">{job.id}</code> },
            {
              name: "Actions",
              hidden: true,
              cell: (job) => (
                <span class="buttons">
                  {job.state === "pending" && <button type="button" class="quiet" disabled={busy} onClick={() => void runNow(job)} aria-label={`Run now: ${job.id}`}>Run now</button>}
                  {(job.state === "pending" || (job.state === "running" && !job.cancel_requested)) && <button type="button" class="quiet" disabled={busy} onClick={() => setAsked(job)} aria-label={`Cancel ${job.id}`}>Cancel</button>}
                  {job.state === "dead" && <button type="button" class="quiet" disabled={busy} onClick={() => void retry(job)} aria-label={`Retry ${job.id}`}>Retry</button>}
                </span>
              ),
            },
          ]}
        />
      )}
      {data && data.records.length === 0 && data.cursor === undefined && (filtered || cursor !== null ? <NothingFound /> : <Empty title="There are no jobs" code={EXAMPLE}>Jobs appear here the moment they are scheduled, and stay for a week after they have ended.</Empty>)}
      {data && data.records.length === 0 && data.cursor !== undefined && <p class="muted searching">Nothing among those looked at so far; there are more.</p>}
      {data && (cursor !== null || data.cursor !== undefined) && (
        <nav class="pager" aria-label="Pages">
          {cursor !== null && <button type="button" onClick={() => history.back()}>Back</button>}
          {cursor !== null && <Link to={at(query, { cursor: null })}>First page</Link>}
          {data.cursor !== undefined && <Link to={at(query, { cursor: data.cursor })} class="button">{data.records.length === 0 ? "Look further" : "Next page"}</Link>}
        </nav>
      )}
      {asked && (
        <Confirm title="Cancel this job?" action="Cancel the job" danger close={() => setAsked(null)} confirm={() => void cancel(asked)}>
          <p><FunctionName of={asked.target} /></p>
          <p class="muted">{asked.state === "running" ? "Its attempt is under way and goes on to its end; it is not tried again." : "It will not run."}</p>
        </Confirm>
      )}
    </>
  );
}

const EXAMPLE = `job_id = await ctx.scheduler.run_after(timedelta(minutes=5), internal.billing.charge, {"invoice": "i-1"})`;

function NothingFound() {
  return (
    <Empty title="No job is like that">
      <Link to={href("/jobs")}>Take all filters away</Link>
    </Empty>
  );
}

function at(query: URLSearchParams, change: { [name: string]: string | null }): string {
  const next = { ...Object.fromEntries(query), ...change };
  return href("/jobs", next);
}

/** How many there are; asked once for a filter, since counting a million costs more than showing fifty. */
function Count({ query }: { query: URLSearchParams }) {
  const [told, setTold] = useState("");
  const key = FIELDS.map((name) => query.get(name)).join("\n");
  useEffect(() => {
    let gone = false;
    setTold("");
    api.count(filtersOf(query)).then(
      ({ count: number, exact }) => gone || setTold(`${exact ? "" : "more than "}${count(number)} in all`),
      () => undefined,
    );
    return () => {
      gone = true;
    };
  }, [key]);
  return <span class="muted count">{told}</span>;
}

function FilterBar({ query }: { query: URLSearchParams }) {
  const [functions, setFunctions] = useState<string[]>([]);
  useEffect(() => {
    api.functions().then(
      (known) => setFunctions(known.map((each) => each.path)),
      () => undefined,
    );
  }, []);
  const set = (name: string, value: string): void => navigate(at(query, { [name]: value || null, cursor: null }), { replace: true });
  return (
    <form class="filters" role="search" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span>State</span>
        <select value={query.get("state") ?? ""} onChange={(event) => set("state", event.currentTarget.value)}>
          <option value="">any</option>
          {STATES.map((state) => <option key={state} value={state}>{state === "canceled" ? "cancelled" : state}</option>)}
        </select>
      </label>
      <Field name="function" label="Function" query={query} set={set} list="known-functions" hint="billing:charge" />
      <Field name="pool" label="Pool" query={query} set={set} hint="emails" />
      <Field name="tag" label="Tag" query={query} set={set} hint="customer-7" />
      <Field name="id" label="Id" query={query} set={set} hint="end-trial" />
      <label>
        <span>Scheduled</span>
        <select value={query.get("since") ?? ""} onChange={(event) => set("since", event.currentTarget.value)}>
          {SPANS.map(([value, name]) => <option key={value} value={value}>{name}</option>)}
        </select>
      </label>
      <label>
        <span>Order</span>
        <select value={query.get("order") ?? "newest"} onChange={(event) => set("order", event.currentTarget.value === "newest" ? "" : event.currentTarget.value)}>
          <option value="newest">newest first</option>
          <option value="soonest">soonest due first</option>
        </select>
      </label>
      <datalist id="known-functions">{functions.map((path) => <option key={path} value={path} />)}</datalist>
    </form>
  );
}

interface FieldProps {
  name: string;
  label: string;
  query: URLSearchParams;
  set: (name: string, value: string) => void;
  hint: string;
  list?: string;
}

/** Applied when one stops typing, or with Enter. */
function Field({ name, label, query, set, hint, list }: FieldProps) {
  const given = query.get(name) ?? "";
  const [text, setText] = useState(given);
  useEffect(() => setText(given), [given]);
  useEffect(() => {
    if (text === given) return;
    const timer = setTimeout(() => set(name, text.trim()), 350);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label>
      <span>{label}</span>
      <input type="search" value={text} placeholder={hint} spellcheck={false} autoComplete="off" {...(list ? { list } : {})} onInput={(event) => setText(event.currentTarget.value)} />
    </label>
  );
}
