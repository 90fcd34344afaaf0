// JSON as a tree that can be folded. Long texts and long lists are shown in part until more is asked for, so that
// a job with a megabyte of arguments opens as fast as any other.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { digitsOf, type Json } from "../json.ts";
import { LongText, visible } from "../text.tsx";
import { count } from "../times.ts";

const OPEN_DEPTH = 3;
const STEP = 100;

export function JsonView({ value, label }: { value: Json; label: string }) {
  return (
    <div class="json" tabIndex={0} role="region" aria-label={label}>
      <Node value={value} depth={0} />
    </div>
  );
}

function Node({ value, depth, name }: { value: Json; depth: number; name?: string }) {
  const key = name === undefined ? null : <span class="key">{visible(name)}: </span>;
  const digits = digitsOf(value);
  if (digits !== null) return <Line>{key}<span class="digits">{digits}</span></Line>;
  if (typeof value === "string")
    return <Line>{key}<span class="text">"<LongText text={value} />"</span></Line>;
  if (value === null || typeof value !== "object") return <Line>{key}<span class="word">{String(value)}</span></Line>;
  const list = Array.isArray(value);
  const entries: [string, Json][] = list ? value.map((item, index) => [String(index), item]) : Object.entries(value as { [key: string]: Json });
  if (entries.length === 0) return <Line>{key}<span class="word">{list ? "[]" : "{}"}</span></Line>;
  return <Branch entries={entries} list={list} depth={depth}>{key}</Branch>;
}

function Branch({ entries, list, depth, children }: { entries: [string, Json][]; list: boolean; depth: number; children: ComponentChildren }) {
  const [open, setOpen] = useState(depth < OPEN_DEPTH);
  const [shown, setShown] = useState(STEP);
  const [begin, end] = list ? ["[", "]"] : ["{", "}"];
  const size = list ? `${count(entries.length)} ${entries.length === 1 ? "item" : "items"}` : `${count(entries.length)} ${entries.length === 1 ? "key" : "keys"}`;
  return (
    <div class="branch">
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        {children}
        <span class="word">{begin}</span>
        {!open && <span class="muted"> {size} <span class="word">{end}</span></span>}
      </button>
      {open && (
        <>
          <div class="inner">
            {entries.slice(0, shown).map(([name, item]) => (list
              ? <Node key={name} value={item} depth={depth + 1} />
              : <Node key={name} value={item} depth={depth + 1} name={name} />))}
            {entries.length > shown && (
              <button type="button" class="more" onClick={() => setShown(shown + STEP * 10)}>
                … {count(entries.length - shown)} more
              </button>
            )}
          </div>
          <span class="word">{end}</span>
        </>
      )}
    </div>
  );
}

function Line({ children }: { children: ComponentChildren }) {
  return <div class="line">{children}</div>;
}
