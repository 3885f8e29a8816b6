/** Dialogs above the page, which take the keys until they are closed. */

import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { withMarksShown } from "../format/marks.ts";
import { useKeys } from "../input/keys.ts";
import { offline } from "../live/link.ts";

interface DialogProps {
  label: string;
  close: () => void;
  children: ComponentChildren;
  /** Name of a style: "palette" is attached to the top. */
  look?: string;
}

/** A modal dialog; Escape and a click outside close it. Focus returns to its former element. */
export function Dialog({ label, close, children, look = "" }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  useKeys([{ keys: "Escape", does: "close", run: close }], { group: "Dialog", modal: true });
  // Synchronous, so that the next key goes to the dialog.
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard closes it with Escape
    <dialog
      ref={element}
      class={`dialog ${look}`}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => event.target === element.current && close()}
    >
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

interface Question {
  title: string;
  body: ComponentChildren;
  /** Verb and count: "Cancel 2 runs". */
  confirm: string;
  /** The safe choice: "Keep running". */
  keep: string;
  act: () => void;
}

const question = signal<Question | null>(null);

/** Asks for confirmation: only for actions that cannot be undone. The safe button has the focus. */
export function askBack(asked: Question): void {
  const { title, body, confirm } = asked;
  const told = typeof body === "string" ? withMarksShown(body) : body;
  question.value = { ...asked, title: withMarksShown(title), body: told, confirm: withMarksShown(confirm) };
}

/** Holds the confirmation; once per document. */
export function QuestionDialog(): JSX.Element | null {
  const asked = question.value;
  if (asked === null) return null;
  const close = () => {
    question.value = null;
  };
  return (
    <Dialog label={asked.title} close={close}>
      <h2>{asked.title}</h2>
      <div class="dialog-text">{asked.body}</div>
      <div class="row dialog-actions">
        <button type="button" class="button" autofocus onClick={close}>
          {asked.keep}
        </button>
        <button
          type="button"
          class="button danger primary"
          disabled={offline.value}
          onClick={() => {
            close();
            asked.act();
          }}
        >
          {asked.confirm}
        </button>
      </div>
    </Dialog>
  );
}
