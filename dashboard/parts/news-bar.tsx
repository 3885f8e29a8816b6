/** Announces new entries above a list, so that rows never move while the user reads. */
import type { JSX } from "preact";
import { Key } from "./layout.tsx";

export function NewsBar({ text, note = "", show }: { text: string; note?: string; show: () => void }): JSX.Element {
  return (
    <button type="button" class="news" onClick={show}>
      <b>{text} above</b>
      {note !== "" && <span class="dim">{` \u00b7 ${note}`}</span>}
      <span class="push">
        Show <Key name="." />
      </span>
    </button>
  );
}
