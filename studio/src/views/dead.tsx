import { useState } from "preact/hooks";
import { api, type Group, type Job } from "../api.ts";
import { useLive, useSeconds } from "../live.ts";
import { useActing } from "../parts/acting.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { Heading } from "../parts/layout.tsx";
import { Empty, ErrorNote, Waiting } from "../parts/notes.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { href, Link } from "../router.tsx";
import { LongText, visible } from "../text.tsx";
import { count, plural } from "../times.ts";
import { Progress, useBulk, type Bulk, type Change } from "./bulk.tsx";
import { FunctionName } from "./job_facts.tsx";

const LETTERS = 50;

interface Seen {
  groups: Group[];
  exact: boolean;
  letters: Job[];
  more: boolean;
}

const same = (group: Group, target: string | null, error: string | null): boolean =>
  target !== null && group.target === target && (group.error_code ?? "") === (error ?? "");

export function Dead({ query }: { query: URLSearchParams }) {
  useSeconds();
  const target = query.get("function");
  const error_ = query.get("error");
  const load = async (): Promise<Seen> => {
    const filters = { state: "dead", function: target ?? undefined, error: error_ ?? undefined };
    const [told, page] = await Promise.all([api.groups(), api.jobs(filters, null, LETTERS)]);
    return { ...told, letters: page.records, more: page.cursor !== undefined };
  };
  const { data, error, reload } = useLive(load, `dead ${query}`);
  const [asked, setAsked] = useState<{ change: Change; group: Group | null; job: Job | null } | null>(null);
  const bulk = useBulk(reload);
  const { act, busy } = useActing(reload);
  const total = data?.groups.reduce((sum, group) => sum + group.count, 0) ?? 0;
  const chosen = data?.groups.find((group) => same(group, target, error_)) ?? null;

  const one = (change: Change, job: Job) =>
    act(async () => {
      const done = change === "retry" ? (await api.retry(job.id)).retried : (await api.drop(job.id)).removed;
      return done ? `${job.id} ${change === "retry" ? "is tried again" : "was dropped"}.` : { text: `${job.id} is no dead letter any more.`, bad: true };
    });

  return (
    <>
      <Heading title="Dead letters">
        {total > 0 && (
          <>
            <button type="button" disabled={bulk.running} onClick={() => setAsked({ change: "retry", group: null, job: null })}>Retry all</button>
            <button type="button" disabled={bulk.running} onClick={() => setAsked({ change: "drop", group: null, job: null })}>Drop all</button>
          </>
        )}
      </Heading>
      <Progress bulk={bulk} />
      {error && <ErrorNote error={error} again={reload} />}
      {data === null && !error && <Waiting />}
      {data && data.groups.length === 0 && (
        <Empty title="There are no dead letters" code={EXAMPLE}>
          A job comes here when it has used up its attempts, or failed in a way that no retry can mend. How often it is tried is up to you:
        </Empty>
      )}
      {data && data.groups.length > 0 && (
        <>
          <p class="muted">{plural(total, "dead letter")}{data.exact ? "" : " or more"}, by what failed and why.</p>
          <Table
            label="Dead letters by function and error"
            rows={data.groups}
            key_={(group) => `${group.target} ${group.error_code}`}
            tone={(group) => (group === chosen ? "chosen" : "")}
            columns={[
              { name: "Function", cell: (group) => <Link to={href("/dead", group === chosen ? {} : { function: group.target, error: group.error_code })}><FunctionName of={group.target} /></Link> },
              { name: "Error", wide: true, cell: (group) => <span class="clip"><strong>{visible(group.error_code ?? "none")}</strong> <span class="muted">{visible((group.example_message ?? "").slice(0, 300))}</span></span> },
              { name: "Newest", cell: (group) => <Link to={href("/job", { id: group.example_id })}><Time at={group.newest} /></Link> },
              { name: "Jobs", number: true, cell: (group) => count(group.count) },
              {
                name: "Actions",
                hidden: true,
                cell: (group) => (
                  <span class="buttons">
                    <button type="button" class="quiet" disabled={bulk.running} onClick={() => setAsked({ change: "retry", group, job: null })} aria-label={`Retry all of ${group.target}, ${group.error_code}`}>Retry</button>
                    <button type="button" class="quiet" disabled={bulk.running} onClick={() => setAsked({ change: "drop", group, job: null })} aria-label={`Drop all of ${group.target}, ${group.error_code}`}>Drop</button>
                  </span>
                ),
              },
            ]}
          />
          <h2 class="apart">{chosen === null ? "Newest letters" : <>Letters of {visible(chosen.target)} with {visible(chosen.error_code ?? "no code")}</>}</h2>
          <Table
            label="Dead letters"
            rows={data.letters}
            key_={(job) => job.id}
            columns={[
              { name: "Function", cell: (job) => <Link to={href("/job", { id: job.id })}><FunctionName of={job.target} /></Link> },
              { name: "Error", wide: true, cell: (job) => <span class="clip"><strong>{visible(job.error_code ?? "")}</strong> <span class="muted"><LongText text={(job.error_message ?? "").slice(0, 300)} /></span></span> },
              { name: "Ended", cell: (job) => <Time at={job.ended} /> },
              { name: "Attempts", number: true, cell: (job) => count(job.attempts) },
              {
                name: "Actions",
                hidden: true,
                cell: (job) => (
                  <span class="buttons">
                    <button type="button" class="quiet" disabled={busy} onClick={() => void one("retry", job)} aria-label={`Retry ${job.id}`}>Retry</button>
                    <button type="button" class="quiet" disabled={busy} onClick={() => setAsked({ change: "drop", group: null, job })} aria-label={`Drop ${job.id}`}>Drop</button>
                  </span>
                ),
              },
            ]}
          />
          {data.more && <p class="muted">These are the newest {LETTERS}. <Link to={href("/jobs", { state: "dead", function: target, order: "newest" })}>All of them, page by page</Link></p>}
        </>
      )}
      {asked && <Ask asked={asked} total={total} exact={data?.exact ?? false} bulk={bulk} one={one} close={() => setAsked(null)} />}
    </>
  );
}

const EXAMPLE = `RunOptions(retry=RetryPolicy(max_attempts=5, backoff="exponential", base_ms=1_000))`;

interface AskProps {
  asked: { change: Change; group: Group | null; job: Job | null };
  total: number;
  exact: boolean;
  bulk: Bulk;
  one: (change: Change, job: Job) => Promise<void>;
  close: () => void;
}

function Ask({ asked: { change, group, job }, total, exact, bulk, one, close }: AskProps) {
  const number = job !== null ? 1 : (group?.count ?? total);
  const word = change === "retry" ? "Retry" : "Drop";
  const jobs = `${job === null && !exact ? "at least " : ""}${plural(number, "job")}`;
  const confirm = (): void => {
    if (job !== null) void one(change, job);
    else void bulk.start(change, group === null ? {} : { target: group.target, ...(group.error_code === null ? {} : { error: group.error_code }) }, number);
  };
  return (
    <Confirm title={`${word} ${jobs}?`} action={`${word} ${jobs}`} danger={change === "drop"} confirm={confirm} close={close}>
      {group && <p><FunctionName of={group.target} /> <strong>{visible(group.error_code ?? "")}</strong></p>}
      <p class="muted">{change === "retry" ? "Each is due at once, with all its attempts." : "The jobs and their errors are deleted for good."}</p>
    </Confirm>
  );
}

