import { useEffect, useState } from "preact/hooks";
import { ApiError, session } from "../api.ts";

const NOT_KEPT =
  "You were signed in, but the browser did not keep the session. It does so over https or on localhost only, and not in private frames.";

export function SignIn({ done, ended }: { done: () => void; ended: boolean }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Lunora studio";
  }, []);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await session.begin(token);
      setToken("");
      if ((await session.look()).until === null) setProblem(NOT_KEPT);
      else done();
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error));
    }
    setBusy(false);
  };

  if (!isSecureContext)
    return (
      <main class="sign-in">
        <h1>Lunora studio</h1>
        <div class="note bad" role="alert">
          <p>This page came over plain http, so anybody on the way could read the token. Open it over https, or through a tunnel to localhost.</p>
        </div>
      </main>
    );
  return (
    <main class="sign-in">
      <h1>Lunora studio</h1>
      <form onSubmit={submit}>
        {ended && <p class="note">Your session has ended. Sign in again to go on where you were.</p>}
        <label for="token">Admin token</label>
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          required
          autoFocus
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
          aria-describedby="where"
          aria-invalid={problem !== null}
        />
        <p id="where" class="muted">
          The value of <code>LUNORA_ADMIN_TOKEN</code>. On this machine it is in <code>.dev.vars</code>; a deployed Worker has
          it as a secret.
        </p>
        {problem !== null && (
          <p class="note bad" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="main" disabled={busy || token === ""}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}
