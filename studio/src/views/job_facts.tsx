// What is said of a job in more than one view.
import type { Job } from "../api.ts";
import { now } from "../api.ts";
import { Time } from "../parts/time.tsx";
import { visible } from "../text.tsx";

/** A function's path, with its module set back. */
export function FunctionName({ of }: { of: string }) {
  const [module, name] = split(of);
  return (
    <span class="function" title={visible(of)}>
      <span class="muted">{visible(module)}</span>
      {visible(name)}
    </span>
  );
}

function split(path: string): [string, string] {
  const at = Math.max(path.lastIndexOf(":"), path.startsWith("workflows.") || path.startsWith("agents.") ? path.indexOf(".") : -1);
  return [path.slice(0, at + 1), path.slice(at + 1)];
}

/** When a job is due, has begun, or came to rest: what matters of its state. */
export function When({ job }: { job: Job }) {
  if (job.state === "running")
    return (
      <>
        began <Time at={job.started} />
      </>
    );
  if (job.state === "pending")
    return job.due < now() ? (
      <span class="late">
        due <Time at={job.due} />
      </span>
    ) : (
      <>
        due <Time at={job.due} />
      </>
    );
  return (
    <>
      ended <Time at={job.ended} />
    </>
  );
}

export const atRest = (job: Job): boolean => job.state !== "pending" && job.state !== "running";
