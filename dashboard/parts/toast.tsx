/**
 * Short messages at the bottom. An action that can be undone runs only when its toast ends: until then nothing is sent. `u`
 * undoes the latest.
 */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { withMarksShown } from "../format/marks.ts";
import { useKeys } from "../input/keys.ts";
import { Key } from "./layout.tsx";

const SECONDS = 8;

interface Toast {
  id: number;
  text: string;
  undo: (() => void) | null;
  commit: (() => void) | null;
  timer: number;
}

const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

export interface ToastOptions {
  /** Reverts the action; shown as a button on the toast. */
  undo?: () => void;
  /** Runs when the toast ends without an undo. */
  commit?: () => void;
}

export function showToast(text: string, { undo, commit }: ToastOptions = {}): void {
  const id = ++lastId;
  const timer = window.setTimeout(() => finish(id), SECONDS * 1000);
  toasts.value = [...toasts.value, { id, text: withMarksShown(text), undo: undo ?? null, commit: commit ?? null, timer }];
}

function take(id: number): Toast | undefined {
  const found = toasts.value.find((toast) => toast.id === id);
  if (found !== undefined) window.clearTimeout(found.timer);
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
  return found;
}

function finish(id: number): void {
  take(id)?.commit?.();
}

function undoLatest(): void {
  const latest = toasts.value.findLast(({ undo }) => undo !== null);
  if (latest !== undefined) take(latest.id)?.undo?.();
}

// Pending actions run even if the page is left now.
window.addEventListener("pagehide", () => {
  for (const { id } of toasts.value) finish(id);
});

/** Holds the toasts; once per document. */
export function Toasts(): JSX.Element {
  useKeys([{ keys: "u", does: "undo the last step", run: undoLatest }], { group: "Everywhere" });
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, undo }) => (
        <div class="toast" key={id}>
          <span>{text}</span>
          {undo !== null && (
            <button type="button" class="button small" onClick={() => take(id)?.undo?.()}>
              Undo <Key name="u" />
            </button>
          )}
          <button type="button" class="button small quiet" aria-label="Close message" onClick={() => finish(id)}>
            {"\u2715"}
          </button>
        </div>
      ))}
    </div>
  );
}
