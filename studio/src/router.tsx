// Which view is shown: the address says it, so that it can be linked.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

export const BASE = "/_lunora/studio";

export interface Place {
  view: string;
  query: URLSearchParams;
}

const listeners = new Set<() => void>();

function place(): Place {
  return { view: location.pathname.slice(BASE.length).replace(/\/$/, ""), query: new URLSearchParams(location.search) };
}

export function href(view: string, query: { [name: string]: string | null | undefined } = {}): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) fields.set(name, value);
  const text = fields.toString();
  return BASE + view + (text ? `?${text}` : "");
}

export function navigate(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  for (const listener of listeners) listener();
}

export function usePlace(): Place {
  const [current, setCurrent] = useState(place);
  useEffect(() => {
    const look = (): void => setCurrent(place());
    listeners.add(look);
    addEventListener("popstate", look);
    return () => {
      listeners.delete(look);
      removeEventListener("popstate", look);
    };
  }, []);
  return current;
}

interface LinkProps {
  to: string;
  children: ComponentChildren;
  class?: string;
  "aria-label"?: string;
  "aria-current"?: "page" | "true" | undefined;
}

/** A link within the studio. With a modifier it is the browser's own. */
export function Link({ to, children, ...more }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return;
    event.preventDefault();
    navigate(to);
    scrollTo(0, 0);
  };
  return (
    <a {...more} href={to} onClick={follow}>
      {children}
    </a>
  );
}
