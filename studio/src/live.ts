// The WebSocket that says when something has changed, and what is done while there is none.
//
// A notice says no more than that. Whoever shows something asks for it again, at most once a second, so a busy
// scheduler costs a page no more than a quiet one.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api.ts";

export type Connection = "connecting" | "live" | "polling";

const PING_MS = 20_000;
const PONG_MS = 8_000;
const POLL_MS = 3_000;
const IDLE_MS = 30_000;
const GAP_MS = 1_000;
const BACK_MS = [500, 1_000, 2_000, 5_000, 10_000];

class Live {
  state: Connection = "connecting";
  private socket: WebSocket | null = null;
  private failures = 0;
  private heard = 0;
  private timers: number[] = [];
  private readonly states = new Set<() => void>();
  private readonly notices = new Set<() => void>();
  private wanted = false;

  start(): void {
    if (this.wanted) return;
    this.wanted = true;
    addEventListener("online", this.connect);
    this.connect();
  }

  stop(): void {
    this.wanted = false;
    removeEventListener("online", this.connect);
    this.drop();
  }

  onState(listener: () => void): () => void {
    this.states.add(listener);
    return () => this.states.delete(listener);
  }

  onNotice(listener: () => void): () => void {
    this.notices.add(listener);
    return () => this.notices.delete(listener);
  }

  private readonly connect = (): void => {
    if (!this.wanted || this.socket !== null) return;
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/_lunora/admin/v1/scheduled/live`);
    this.socket = socket;
    this.later(() => socket.readyState !== WebSocket.OPEN && this.lost(socket), PONG_MS);
    socket.onopen = () => {
      this.failures = 0;
      this.heard = Date.now();
      this.become("live");
      this.ping(socket);
      for (const listener of this.notices) listener();
    };
    socket.onmessage = (message: MessageEvent<unknown>) => {
      this.heard = Date.now();
      if (message.data !== "pong") for (const listener of this.notices) listener();
    };
    socket.onclose = () => this.lost(socket);
  };

  /** A connection may be dead without anybody having said so: a sleeping laptop, a network that changed. */
  private ping(socket: WebSocket): void {
    this.later(() => {
      if (socket !== this.socket) return;
      const asked = Date.now();
      socket.send("ping");
      this.later(() => (this.heard < asked ? this.lost(socket) : this.ping(socket)), PONG_MS);
    }, PING_MS);
  }

  private lost(socket: WebSocket): void {
    if (socket !== this.socket) return;
    this.drop();
    if (!this.wanted) return;
    this.become("polling");
    const wait = BACK_MS[Math.min(this.failures++, BACK_MS.length - 1)] ?? 10_000;
    this.later(this.connect, wait * (0.75 + Math.random() / 2));
  }

  private drop(): void {
    for (const timer of this.timers.splice(0)) clearTimeout(timer);
    const socket = this.socket;
    this.socket = null;
    if (socket !== null) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  private become(state: Connection): void {
    if (this.state === state) return;
    this.state = state;
    for (const listener of this.states) listener();
  }

  private later(work: () => void, ms: number): void {
    this.timers = [...this.timers.slice(-8), window.setTimeout(work, ms)];
  }
}

export const live = new Live();

export function useConnection(): Connection {
  const [state, setState] = useState(live.state);
  useEffect(() => live.onState(() => setState(live.state)), []);
  return state;
}

export interface Loaded<T> {
  data: T | null;
  error: ApiError | null;
  /** Ask again now. */
  reload: () => void;
}

/**
 * What `load` answers, asked for again whenever something has changed. What was there stays until the new is here.
 *
 * @param key what it depends on: with another key it is something else, and nothing is shown until it is there
 */
export function useLive<T>(load: () => Promise<T>, key: string, idleMs = IDLE_MS): Loaded<T> {
  const [shown, setShown] = useState<{ key: string; data: T | null; error: ApiError | null }>({ key, data: null, error: null });
  const loading = useRef(load);
  loading.current = load;
  const again = useRef<() => void>(() => undefined);

  useEffect(() => {
    let gone = false;
    let busy = false;
    let wanted = false;
    let last = 0;
    let timer = 0;

    const work = async (): Promise<void> => {
      if (busy) {
        wanted = true;
        return;
      }
      busy = true;
      wanted = false;
      last = Date.now();
      clearTimeout(timer);
      try {
        const data = await loading.current();
        if (!gone) setShown({ key, data, error: null });
      } catch (error) {
        const told = error instanceof ApiError ? error : new ApiError(0, "STUDIO_FAILED", String(error));
        if (!gone) setShown((before) => ({ key, data: before.key === key ? before.data : null, error: told }));
      }
      busy = false;
      if (gone) return;
      timer = window.setTimeout(soon, wanted ? GAP_MS : live.state === "live" ? idleMs : POLL_MS);
    };
    const soon = (): void => {
      if (document.hidden) {
        wanted = true;
        return;
      }
      const wait = last + GAP_MS - Date.now();
      if (wait <= 0) void work();
      else {
        clearTimeout(timer);
        timer = window.setTimeout(() => void work(), wait);
      }
    };
    const seen = (): void => {
      if (!document.hidden) soon();
    };
    again.current = () => void work();
    void work();
    const quit = [live.onNotice(soon), live.onState(soon)];
    document.addEventListener("visibilitychange", seen);
    return () => {
      gone = true;
      clearTimeout(timer);
      for (const each of quit) each();
      document.removeEventListener("visibilitychange", seen);
    };
  }, [key, idleMs]);

  const current = shown.key === key ? shown : { data: null, error: null };
  return { data: current.data, error: current.error, reload: () => again.current() };
}

/** Render anew each second, for what counts down. */
export function useSeconds(): void {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || tick((count) => count + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
}
