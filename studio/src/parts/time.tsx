import { now } from "../api.ts";
import { exact, relative } from "../times.ts";

/** An instant as it lies from now; exactly when one points at it. */
export function Time({ at }: { at: number | null | undefined }) {
  if (at === null || at === undefined) return <span class="none">–</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={exact(at)}>
      {relative(at, now())}
    </time>
  );
}
