import { useEffect, useRef, useState } from "preact/hooks";
import { api, type Pool } from "../api.ts";
import { useLive } from "../live.ts";
import { useActing } from "../parts/acting.tsx";
import { Confirm, Dialog } from "../parts/dialog.tsx";
import { Heading } from "../parts/layout.tsx";
import { Empty, ErrorNote, Waiting } from "../parts/notes.tsx";
import { State } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { href, Link } from "../router.tsx";
import { count, upTo } from "../times.ts";

const SAMPLE_MS = 2_000;
const SAMPLES = 60;
const COUNTED = 10_000;

interface Sample {
  inFlight: number;
  cap: number;
}

/** What was in flight while the page has been open: one sample each two seconds, for two minutes. */
function useHistory(pools: Pool[] | null): Map<string, Sample[]> {
  const [history, setHistory] = useState(new Map<string, Sample[]>());
  const latest = useRef(pools);
  latest.current = pools;
  useEffect(() => {
    const timer = setInterval(() => {
      const seen = latest.current;
      if (seen === null || document.hidden) return;
      setHistory((before) => new Map(seen.map((pool) => [pool.name, [...(before.get(pool.name) ?? []), { inFlight: pool.in_flight, cap: pool.max_concurrency }].slice(-SAMPLES)])));
    }, SAMPLE_MS);
    return () => clearInterval(timer);
  }, []);
  return history;
}

export function Pools() {
  const { data, error, reload } = useLive(async () => (await api.pools()).pools, "pools", 5_000);
  const history = useHistory(data);
  const [capping, setCapping] = useState<Pool | null>(null);
  const [pausing, setPausing] = useState<Pool | null>(null);
  const { act, busy } = useActing(reload);
  const pools = data && [...data].sort((one, other) => other.queued - one.queued || (one.name < other.name ? -1 : 1));

  const pause = (pool: Pool) => act(async () => (await api.pausePool(pool.name), `${pool.name} is paused; what runs goes on.`));
  const resume = (pool: Pool) => act(async () => (await api.resumePool(pool.name), `${pool.name} goes on.`));
  const cap = (pool: Pool, number: number) => act(async () => (await api.capPool(pool.name, number), `${pool.name} now runs ${count(number)} at a time.`));

  return (
    <>
      <Heading title="Pools" />
      {error && <ErrorNote error={error} again={reload} />}
      {pools === null && !error && <Waiting />}
      {pools && pools.length === 0 && (
        <Empty title="There are no pools" code={EXAMPLE}>
          A pool lets only so many of its jobs run at a time. It appears here with its first job:
        </Empty>
      )}
      {pools && pools.length > 0 && (
        <Table
          label="Pools"
          rows={pools}
          key_={(pool) => pool.name}
          columns={[
            { name: "Pool", cell: (pool) => <Link to={href("/jobs", { pool: pool.name })}>{pool.name}</Link> },
            { name: "State", cell: (pool) => <State of={pool.paused ? "paused" : pool.in_flight >= pool.max_concurrency ? "full" : "open"} /> },
            { name: "In flight over time", wide: true, cell: (pool) => <Bars samples={history.get(pool.name) ?? []} pool={pool} /> },
            { name: "In flight", number: true, cell: (pool) => `${count(pool.in_flight)} / ${count(pool.max_concurrency)}` },
            { name: "Queued", number: true, cell: (pool) => upTo(pool.queued, COUNTED) },
            {
              name: "Actions",
              hidden: true,
              cell: (pool) => (
                <span class="buttons">
                  {pool.paused ? (
                    <button type="button" class="quiet" disabled={busy} onClick={() => void resume(pool)} aria-label={`Resume ${pool.name}`}>Resume</button>
                  ) : (
                    <button type="button" class="quiet" disabled={busy} onClick={() => setPausing(pool)} aria-label={`Pause ${pool.name}`}>Pause</button>
                  )}
                  <button type="button" class="quiet" disabled={busy} onClick={() => setCapping(pool)} aria-label={`Change cap: ${pool.name}`}>Change cap</button>
                </span>
              ),
            },
          ]}
        />
      )}
      {pausing && (
        <Confirm title={`Pause ${pausing.name}?`} action="Pause the pool" close={() => setPausing(null)} confirm={() => void pause(pausing)}>
          <p class="muted">What runs goes on to its end; {upTo(pausing.queued, COUNTED)} queued jobs and all that come wait until it is resumed.</p>
        </Confirm>
      )}
      {capping && <Cap pool={capping} close={() => setCapping(null)} set={(number) => void cap(capping, number)} />}
    </>
  );
}

const EXAMPLE = `pool = create_workpool(scheduler, name="emails", max_concurrency=5)
await pool.enqueue(internal.emails.send, {"to": "ada@example.com"})`;

function Bars({ samples, pool }: { samples: Sample[]; pool: Pool }) {
  const all = [...samples, { inFlight: pool.in_flight, cap: pool.max_concurrency }].slice(-SAMPLES);
  const top = Math.max(1, ...all.map((sample) => Math.max(sample.cap, sample.inFlight)));
  const first = SAMPLES - all.length;
  return (
    <svg class="bars" viewBox={`0 0 ${SAMPLES * 4} 32`} preserveAspectRatio="none" role="img" aria-label={`${pool.in_flight} of ${pool.max_concurrency} in flight now; at most ${Math.max(...all.map((sample) => sample.inFlight))} in the last two minutes`}>
      {all.map((sample, index) => {
        const height = (sample.inFlight / top) * 30;
        return <rect key={index} class={sample.inFlight >= sample.cap ? "full" : "open"} x={(first + index) * 4} y={32 - height} width={3} height={height} />;
      })}
      {all.map((sample, index) => <rect key={`cap ${index}`} class="cap" x={(first + index) * 4} y={31 - (sample.cap / top) * 30} width={4} height={1} />)}
    </svg>
  );
}

function Cap({ pool, close, set }: { pool: Pool; close: () => void; set: (cap: number) => void }) {
  const [text, setText] = useState(String(pool.max_concurrency));
  const number = Number(text);
  const valid = /^[0-9]{1,6}$/.test(text) && number >= 1;
  return (
    <Dialog title={`How many of ${pool.name} at a time?`} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          close();
          set(number);
        }}
      >
        <label for="cap">Cap</label>
        <input id="cap" type="number" inputMode="numeric" min={1} step={1} required autoFocus value={text} onInput={(event) => setText(event.currentTarget.value)} />
        <p class="muted">It holds until code asks for another one. What runs goes on, also if it is more than that.</p>
        <div class="buttons">
          <button type="button" onClick={close}>No, leave it</button>
          <button type="submit" class="main" disabled={!valid}>Change the cap</button>
        </div>
      </form>
    </Dialog>
  );
}
