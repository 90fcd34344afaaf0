// Doing something: at most once at a time, and what became of it is said aloud.
import { createContext, type ComponentChildren } from "preact";
import { useCallback, useContext, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api.ts";

interface Said {
  text: string;
  bad: boolean;
}

const Say = createContext<(said: Said) => void>(() => undefined);
const SHOWN_MS = 6_000;

export function Announcer({ children }: { children: ComponentChildren }) {
  const [said, setSaid] = useState<Said | null>(null);
  const timer = useRef(0);
  const say = useCallback((next: Said) => {
    clearTimeout(timer.current);
    setSaid(next);
    if (!next.bad) timer.current = window.setTimeout(() => setSaid(null), SHOWN_MS);
  }, []);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <Say.Provider value={say}>
      {children}
      <div class="said" role="status" aria-live="polite">
        {said && (
          <p class={said.bad ? "bad" : "good"}>
            <span>{said.text}</span>
            <button type="button" class="quiet" onClick={() => setSaid(null)}>
              Dismiss
            </button>
          </p>
        )}
      </div>
    </Say.Provider>
  );
}

/** `act(work, "what it says when done")`; `busy` while it lasts. */
export function useActing(after: () => void = () => undefined) {
  const say = useContext(Say);
  const [busy, setBusy] = useState(false);
  const act = async (work: () => Promise<string | { text: string; bad: boolean }>): Promise<void> => {
    if (busy) return;
    setBusy(true);
    try {
      const done = await work();
      say(typeof done === "string" ? { text: done, bad: false } : done);
    } catch (error) {
      say({ text: error instanceof ApiError ? `${error.code}: ${error.message}` : String(error), bad: true });
    }
    setBusy(false);
    after();
  };
  return { act, busy };
}

export async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}
