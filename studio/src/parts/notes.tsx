import type { ComponentChildren } from "preact";
import type { ApiError } from "../api.ts";

const WAYS_OUT: { [code: string]: string } = {
  UNREACHABLE: "It is asked again by itself.",
  NOT_FOUND: "This Worker runs an older release of lunorash than its studio: deploy it again.",
  SCHEDULER_NOT_CONFIGURED: "Run `lunora doctor` in the project: it says what is missing.",
  SCHEDULER_UNAVAILABLE: "It is asked again by itself; if that does not help, look at the Worker's log.",
};

/** What went wrong, and what to do about it. */
export function ErrorNote({ error, again }: { error: ApiError; again?: () => void }) {
  return (
    <div class="note bad" role="alert">
      <p>
        <strong>{error.code}</strong> {error.message}
      </p>
      {WAYS_OUT[error.code] && <p class="muted">{WAYS_OUT[error.code]}</p>}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Nothing is there: what would be, and the code that puts it there. */
export function Empty({ title, children, code }: { title: string; children?: ComponentChildren; code?: string }) {
  return (
    <div class="empty">
      <h3>{title}</h3>
      {children && <p>{children}</p>}
      {code && (
        <pre tabIndex={0} aria-label="Example">
          <code>{code}</code>
        </pre>
      )}
    </div>
  );
}

/** What stands where something will be, and is as large. */
export function Waiting({ rows = 6 }: { rows?: number }) {
  return (
    <div class="waiting" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} />
      ))}
    </div>
  );
}
