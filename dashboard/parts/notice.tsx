/** Placeholders for data: empty, not found, not loaded, not reachable. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../api/client.ts";
import { withMarksShown } from "../format/marks.ts";

/** An empty place: what belongs here, how to create the first, and steps as buttons. */
export function Empty({
  title,
  children,
  command,
}: {
  title: string;
  children?: ComponentChildren;
  command?: string;
}): JSX.Element {
  return (
    <div class="empty">
      <h3>{title}</h3>
      <div class="dim">{children}</div>
      {command !== undefined && <CopyLine text={command} />}
    </div>
  );
}

/** A command to copy. */
export function CopyLine({ text }: { text: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
  };
  return (
    <div class="copy-line">
      <code class="mono">{text}</code>
      <button type="button" class="button small quiet" onClick={copy}>
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

/** A part that failed: the cause, and a button to try again. The rest of the page stays. */
export function Failure({ what, error, again }: { what: string; error: ApiError; again: () => void }): JSX.Element {
  const told = withMarksShown(error.message);
  const cause = error.status === 0 ? told : `The server answered ${error.status}: ${told}`;
  return (
    <div class="banner s-failed" role="alert">
      <div>
        <b>{what} could not be read.</b> {cause}.
      </div>
      <button type="button" class="button push" onClick={again}>
        Try again
      </button>
    </div>
  );
}

/** An important sentence, in the colour of a state. */
export function Banner({
  token,
  children,
  actions,
}: {
  token: string;
  children: ComponentChildren;
  actions?: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`banner s-${token}`}>
      <div>{children}</div>
      {actions && <div class="push row">{actions}</div>}
    </div>
  );
}

const QUIET_MS = 300;

/** Placeholder rows: nothing at first, later still bars at the height of rows. */
export function Loading({ rows = 6 }: { rows?: number }): JSX.Element | null {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setShown(true), QUIET_MS);
    return () => window.clearTimeout(timer);
  }, []);
  if (!shown) return null;
  return (
    <div class="loading" aria-busy="true">
      {Array.from({ length: rows }, (_, index) => (
        <i key={index} />
      ))}
      <span class="sr">Loading</span>
    </div>
  );
}
