// Text from outside. It only ever becomes text nodes; what would be invisible, or turn the line around, is spelled out.
import { useState } from "preact/hooks";
import { count } from "./times.ts";

// controls, zero-width signs, and those that change the direction of what follows
// biome-ignore lint: the point is to name them
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

export function visible(text: string): string {
  return text.replace(UNSEEN, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A text of any length; of a long one the beginning, until more is asked for. */
export function LongText({ text, limit = 2_000 }: { text: string; limit?: number }) {
  const [whole, setWhole] = useState(false);
  if (text.length <= limit) return <bdi>{visible(text)}</bdi>;
  return (
    <>
      <bdi>{visible(whole ? text : text.slice(0, limit))}</bdi>{" "}
      <button type="button" class="more" onClick={() => setWhole(!whole)}>
        {whole ? "show less" : `… show all ${count(text.length)} characters`}
      </button>
    </>
  );
}
