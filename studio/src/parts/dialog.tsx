// Questions, asked in a dialog of the browser's own: it keeps the focus, and Escape means no.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface DialogProps {
  title: string;
  children: ComponentChildren;
  close: () => void;
  wide?: boolean;
}

export function Dialog({ title, children, close, wide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      else document.getElementById("content")?.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? "wide" : undefined}
      aria-labelledby={name}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="inside">
        <h2 id={name}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  children?: ComponentChildren;
  action: string;
  danger?: boolean;
  confirm: () => void;
  close: () => void;
}

export function Confirm({ title, children, action, danger = false, confirm, close }: ConfirmProps) {
  return (
    <Dialog title={title} close={close}>
      {children}
      <form
        class="buttons"
        onSubmit={(event) => {
          event.preventDefault();
          close();
          confirm();
        }}
      >
        <button type="button" onClick={close}>
          No, leave it
        </button>
        <button type="submit" class={danger ? "danger" : "main"} autoFocus>
          {action}
        </button>
      </form>
    </Dialog>
  );
}
