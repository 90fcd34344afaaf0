import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useConnection } from "../live.ts";
import { href, Link, usePlace } from "../router.tsx";

const VIEWS: [string, string][] = [
  ["", "Overview"],
  ["/jobs", "Jobs"],
  ["/crons", "Crons"],
  ["/dead", "Dead letters"],
  ["/pools", "Pools"],
  ["/functions", "Functions"],
];

const CONNECTIONS = {
  connecting: ["Connecting", "Live updates are being set up"],
  live: ["Live", "Changes are shown as they happen"],
  polling: ["Polling", "The live connection is down: it is asked every 3 seconds until it is back"],
} as const;

export function Layout({ children, signOut }: { children: ComponentChildren; signOut: () => void }) {
  const { view } = usePlace();
  const connection = useConnection();
  const [word, meaning] = CONNECTIONS[connection];
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header>
        <Link to={href("")} class="brand" aria-label="Lunora studio, overview">
          <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
            <rect width="32" height="32" rx="8" class="moon-sky" />
            <path class="moon" d="M21.5 20.6A8.6 8.6 0 0 1 12 8.2a8.6 8.6 0 1 0 11.6 11.3 8.7 8.7 0 0 1-2.1 1.1Z" />
            <circle class="moon" cx="21" cy="10.5" r="2" />
          </svg>
          <span>Lunora</span>
        </Link>
        <nav aria-label="Views">
          {VIEWS.map(([to, name]) => {
            const here = to === view || (to === "/jobs" && view === "/job");
            return (
              <Link key={to} to={href(to)} aria-current={here ? "page" : undefined}>
                {name}
              </Link>
            );
          })}
        </nav>
        <div class="foot">
          <span class={`connection ${connection}`} title={meaning} role="status">
            {word}
            <span class="unseen">. {meaning}</span>
          </span>
          <button type="button" class="quiet" onClick={signOut}>
            Sign out
          </button>
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

/** The heading of a view, which is the page's title too. */
export function Heading({ title, children }: { title: string; children?: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Lunora studio`;
  }, [title]);
  return (
    <div class="heading">
      <h1>{title}</h1>
      {children && <div class="acts">{children}</div>}
    </div>
  );
}
