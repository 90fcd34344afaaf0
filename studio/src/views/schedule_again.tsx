import { useState } from "preact/hooks";
import { api, type Job } from "../api.ts";
import { decode, encode, type Json } from "../json.ts";
import { useActing } from "../parts/acting.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { href, navigate } from "../router.tsx";
import { problemOf } from "../schema_form.ts";

export const DELAYS: [string, string][] = [
  ["0", "now"],
  ["60000", "in a minute"],
  ["3600000", "in an hour"],
  ["86400000", "in a day"],
];

/** The call that would schedule it again, with the options it had. */
export function callOf(job: Job): { target: string; args: Job["args"]; options: { [name: string]: unknown } } {
  const options = {
    ...(job.shard_key === null ? {} : { shard_key: job.shard_key }),
    ...(job.pool === null ? {} : { pool: job.pool }),
    ...(job.priority === 0 ? {} : { priority: job.priority }),
    ...(job.tags?.length ? { tags: job.tags } : {}),
    ...(job.on_complete ? { on_complete: job.on_complete } : {}),
    retry: job.retry,
    timeout_ms: job.timeout_ms,
  };
  return { target: job.target, args: job.args, options };
}

export function ScheduleAgain({ job, close }: { job: Job; close: () => void }) {
  const call = callOf(job);
  const [text, setText] = useState(() => encode(call.args, 2));
  const [delay, setDelay] = useState("0");
  const { act, busy } = useActing();
  const problem = problemOf(text);

  const schedule = (event: Event): void => {
    event.preventDefault();
    void act(async () => {
      const args: Json = decode(text);
      const { id } = await api.schedule(call.target, args, { delay_ms: Number(delay), options: call.options });
      close();
      navigate(href("/job", { id }));
      return `Scheduled as ${id}.`;
    });
  };
  return (
    <Dialog title="Schedule again" close={close} wide>
      <form onSubmit={schedule}>
        <p class="muted">A new job of {job.target}. Numbers of any size stay as they are written.</p>
        <label for="args">Arguments</label>
        <textarea id="args" class="code" rows={14} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} aria-invalid={problem !== null} aria-describedby="args-problem" autoFocus />
        <p id="args-problem" class={problem === null ? "unseen" : "problem"} role="status">{problem ?? "The arguments are well-formed."}</p>
        <label for="delay">When</label>
        <select id="delay" value={delay} onChange={(event) => setDelay(event.currentTarget.value)}>
          {DELAYS.map(([ms, name]) => <option key={ms} value={ms}>{name}</option>)}
        </select>
        <div class="buttons">
          <button type="button" onClick={close}>No, leave it</button>
          <button type="submit" class="main" disabled={busy || problem !== null}>Schedule</button>
        </div>
      </form>
    </Dialog>
  );
}
