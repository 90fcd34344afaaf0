// Changing many dead letters: step by step, with what is done so far, and an end to it whenever one likes.
import { useRef, useState } from "preact/hooks";
import { api, ApiError } from "../api.ts";
import { count, plural } from "../times.ts";

export type Change = "retry" | "drop";

interface Going {
  change: Change;
  done: number;
  of: number;
  state: "running" | "done" | "stopped" | "failed";
  problem: string;
}

export interface Bulk {
  going: Going | null;
  running: boolean;
  start: (change: Change, filter: object, of: number) => Promise<void>;
  stop: () => void;
  dismiss: () => void;
}

export function useBulk(after: () => void): Bulk {
  const [going, setGoing] = useState<Going | null>(null);
  const stopped = useRef(false);

  const start = async (change: Change, filter: object, of: number): Promise<void> => {
    stopped.current = false;
    let done = 0;
    const tell = (state: Going["state"], problem = ""): void => setGoing({ change, done, of: Math.max(of, done), state, problem });
    tell("running");
    let cursor: string | null = null;
    try {
      do {
        const step = await api.bulk(change, filter, cursor, false);
        done += step.changed;
        cursor = step.cursor;
        tell("running");
      } while (cursor !== null && !stopped.current);
      tell(cursor === null ? "done" : "stopped");
    } catch (error) {
      tell("failed", error instanceof ApiError ? `${error.code}: ${error.message}` : String(error));
    }
    after();
  };
  return {
    going,
    running: going?.state === "running",
    start,
    stop: () => {
      stopped.current = true;
    },
    dismiss: () => setGoing(null),
  };
}

const DONE = { retry: "tried again", drop: "dropped" };

export function Progress({ bulk }: { bulk: Bulk }) {
  const { going } = bulk;
  if (going === null) return null;
  const { done, of, state, change, problem } = going;
  const told = {
    running: `${count(done)} of ${plural(of, "job")} ${DONE[change]}…`,
    done: `${plural(done, "job")} ${DONE[change]}.`,
    stopped: `Stopped after ${plural(done, "job")}; the others are as they were.`,
    failed: `After ${plural(done, "job")}: ${problem}`,
  }[state];
  return (
    <div class={`note ${state === "failed" ? "bad" : ""} progress`} role="status">
      <p>{told}</p>
      <progress max={Math.max(1, of)} value={state === "done" ? Math.max(1, of) : done} aria-label="Progress" />
      {state === "running" ? <button type="button" onClick={bulk.stop}>Stop</button> : <button type="button" class="quiet" onClick={bulk.dismiss}>Dismiss</button>}
    </div>
  );
}
