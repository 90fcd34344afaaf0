import { useState } from "preact/hooks";
import { api, ApiError, type LunoraFunction } from "../api.ts";
import { encode, type Json } from "../json.ts";
import { useLive } from "../live.ts";
import { useActing } from "../parts/acting.tsx";
import { JsonView } from "../parts/json_view.tsx";
import { Heading } from "../parts/layout.tsx";
import { Empty, ErrorNote, Waiting } from "../parts/notes.tsx";
import { href, Link, navigate } from "../router.tsx";
import { argumentsOf, blank, fieldsOf, type Draft } from "../schema_form.ts";
import { FunctionName } from "./job_facts.tsx";
import { DELAYS } from "./schedule_again.tsx";

export function Functions({ query }: { query: URLSearchParams }) {
  const { data, error, reload } = useLive(() => api.functions(), "functions", 600_000);
  const [wanted, setWanted] = useState("");
  const path = query.get("path");
  const chosen = data?.find((each) => each.path === path) ?? null;
  const shown = data?.filter((each) => each.path.toLowerCase().includes(wanted.trim().toLowerCase())) ?? [];
  return (
    <>
      <Heading title="Functions" />
      {error && <ErrorNote error={error} again={reload} />}
      {data === null && !error && <Waiting />}
      {data && data.length === 0 && (
        <Empty title="There are no functions" code={EXAMPLE}>
          Write one in the package <code>lunora/</code>:
        </Empty>
      )}
      {data && data.length > 0 && (
        <div class="split">
          <section>
            <label class="find">
              <span class="unseen">Find a function</span>
              <input type="search" placeholder="Find a function" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
            </label>
            <ul class="functions">
              {shown.map((each) => (
                <li key={each.path}>
                  <Link to={href("/functions", { path: each.path })} aria-current={each === chosen ? "true" : undefined}>
                    <FunctionName of={each.path} />
                    <span class="muted">{each.visibility === "internal" ? "internal " : ""}{each.kind}</span>
                  </Link>
                </li>
              ))}
              {shown.length === 0 && <li class="muted">None is called like that.</li>}
            </ul>
          </section>
          {chosen === null ? <section class="panel"><Empty title="Choose a function">Its arguments are shown here, and it can be run or scheduled.</Empty></section> : <Caller key={chosen.path} of={chosen} />}
        </div>
      )}
    </>
  );
}

const EXAMPLE = `@internal_action
async def charge(ctx: ActionContext, invoice: str) -> None: ...`;

function Caller({ of }: { of: LunoraFunction }) {
  const fields = fieldsOf(of.args_schema);
  const [draft, setDraft] = useState<Draft>(() => blank(fields));
  const [delay, setDelay] = useState("0");
  const [result, setResult] = useState<{ value: Json } | null>(null);
  const [refused, setRefused] = useState<ApiError | null>(null);
  const { act, busy } = useActing();
  const { args, problems } = argumentsOf(fields, draft);
  const runs = of.kind === "query" || of.kind === "mutation" || of.kind === "action";
  const schedules = of.kind !== "query";

  const noted = async (work: () => Promise<string>): Promise<string | { text: string; bad: boolean }> => {
    setRefused(null);
    setResult(null);
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setRefused(error);
      return { text: `${of.path} was refused or failed.`, bad: true };
    }
  };
  const run = () => act(() => noted(async () => (setResult(await api.run(of.path, args)), `${of.path} has run.`)));
  const schedule = () =>
    act(() =>
      noted(async () => {
        const { id } = await api.schedule(of.path, args, { delay_ms: Number(delay) });
        navigate(href("/job", { id }));
        return `Scheduled as ${id}.`;
      }),
    );
  return (
    <section class="panel caller">
      <h2><FunctionName of={of.path} /></h2>
      <p class="muted">{of.visibility === "internal" ? "Internal " : "Public "}{of.kind}. <Link to={href("/jobs", { function: of.path })}>Its jobs</Link></p>
      {of.problem && <p class="note">{of.problem}</p>}
      <form onSubmit={(event) => event.preventDefault()}>
        {fields.length === 0 && <p class="muted">It takes no arguments.</p>}
        {fields.map((field) => {
          const id = `field-${field.name}`;
          const value = draft[field.name] ?? "";
          const set = (text: string): void => setDraft({ ...draft, [field.name]: text });
          const problem = problems[field.name];
          const common = { id, value, "aria-describedby": `${id}-hint`, "aria-invalid": problem !== undefined && value !== "" } as const;
          return (
            <div class="field" key={field.name}>
              <label for={id}>{field.name}{field.required ? "" : <span class="muted"> optional</span>}</label>
              {field.choices ? (
                <select {...common} onChange={(event) => set(event.currentTarget.value)}>
                  <option value="">–</option>
                  {field.choices.map((choice) => <option key={encode(choice)} value={encode(choice)}>{typeof choice === "string" ? choice : encode(choice)}</option>)}
                </select>
              ) : field.type === "json" ? (
                <textarea {...common} class="code" rows={4} spellcheck={false} onInput={(event) => set(event.currentTarget.value)} />
              ) : (
                <input {...common} type="text" inputMode={field.type === "string" ? "text" : "decimal"} spellcheck={false} autoComplete="off" onInput={(event) => set(event.currentTarget.value)} />
              )}
              <p id={`${id}-hint`} class={problem !== undefined && value !== "" ? "problem" : "muted"}>{problem !== undefined && value !== "" ? problem : field.hint}</p>
            </div>
          );
        })}
        <div class="buttons">
          {runs && <button type="button" class={schedules ? "" : "main"} disabled={busy || Object.keys(problems).length > 0} onClick={() => void run()}>{busy ? "Running…" : "Run and wait"}</button>}
          {schedules && (
            <>
              <label class="inline"><span class="unseen">When</span>
                <select value={delay} onChange={(event) => setDelay(event.currentTarget.value)}>{DELAYS.map(([ms, name]) => <option key={ms} value={ms}>{name}</option>)}</select>
              </label>
              <button type="button" class="main" disabled={busy || Object.keys(problems).length > 0} onClick={() => void schedule()}>Schedule</button>
            </>
          )}
        </div>
      </form>
      {refused && <ErrorNote error={refused} />}
      {result && (
        <>
          <h3>What it returned</h3>
          <JsonView value={result.value} label="Result" />
        </>
      )}
      {of.args_schema && (
        <details>
          <summary>Schema of its arguments</summary>
          <JsonView value={of.args_schema} label="Schema" />
        </details>
      )}
    </section>
  );
}
