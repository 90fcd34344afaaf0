import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, onForbidden, session } from "./api.ts";
import { live } from "./live.ts";
import { Announcer } from "./parts/acting.tsx";
import { Layout } from "./parts/layout.tsx";
import { Empty, ErrorNote } from "./parts/notes.tsx";
import { SignIn } from "./parts/sign_in.tsx";
import { href, Link, usePlace } from "./router.tsx";
import "./style.css";
import { Crons } from "./views/crons.tsx";
import { Dead } from "./views/dead.tsx";
import { Functions } from "./views/functions.tsx";
import { JobPage } from "./views/job.tsx";
import { Jobs } from "./views/jobs.tsx";
import { Overview } from "./views/overview.tsx";
import { Pools } from "./views/pools.tsx";

const RENEWED_MS = 10 * 60 * 1_000;

type Access = "asking" | "in" | "out" | "ended" | ApiError;

function Studio() {
  const [access, setAccess] = useState<Access>("asking");

  const ask = async (): Promise<void> => {
    try {
      const { until } = await session.look();
      setAccess((before) => (until !== null ? "in" : before === "in" ? "ended" : "out"));
    } catch (error) {
      if (error instanceof ApiError) setAccess((before) => (before === "in" ? before : error));
    }
  };
  useEffect(() => {
    void ask();
    const timer = setInterval(() => document.hidden || void ask(), RENEWED_MS);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => onForbidden(() => setAccess((before) => (before === "in" ? "ended" : before))), []);
  useEffect(() => {
    if (access !== "in") return;
    live.start();
    return () => live.stop();
  }, [access]);

  if (access === "asking") return null;
  if (access instanceof ApiError)
    return (
      <main class="sign-in">
        <h1>Lunora studio</h1>
        <ErrorNote error={access} again={() => void ask()} />
      </main>
    );
  if (access !== "in") return <SignIn ended={access === "ended"} done={() => setAccess("in")} />;
  const signOut = async (): Promise<void> => {
    await session.end().catch(() => undefined);
    setAccess("out");
  };
  return (
    <Announcer>
      <Layout signOut={() => void signOut()}>
        <View />
      </Layout>
    </Announcer>
  );
}

function View() {
  const { view, query } = usePlace();
  switch (view) {
    case "":
      return <Overview />;
    case "/jobs":
      return <Jobs query={query} />;
    case "/job":
      return <JobPage id={query.get("id") ?? ""} />;
    case "/crons":
      return <Crons />;
    case "/dead":
      return <Dead query={query} />;
    case "/pools":
      return <Pools />;
    case "/functions":
      return <Functions query={query} />;
    default:
      return (
        <Empty title="There is no such view">
          <Link to={href("")}>Go to the overview</Link>
        </Empty>
      );
  }
}

render(<Studio />, document.getElementById("studio")!);
