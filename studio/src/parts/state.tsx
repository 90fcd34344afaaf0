const WORDS: { [state: string]: string } = { canceled: "cancelled" };

/** A state as a word and a sign: never by colour alone. */
export function State({ of, title }: { of: string; title?: string }) {
  return (
    <span class={`state ${of}`} title={title}>
      {WORDS[of] ?? of}
    </span>
  );
}
