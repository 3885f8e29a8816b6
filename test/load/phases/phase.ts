import type { Distribution } from "../distribution.ts";
import type { Figure } from "../figure.ts";
import type { LoadOptions } from "../options.ts";
import type { Timeline } from "../timeline.ts";
import type { WindowContext } from "../window.ts";

export interface PhaseContext extends WindowContext {
  options: LoadOptions;
}

/** The result of a phase: its figures, notes that are needed to read them, and what its charts show. */
export interface PhaseResult {
  figures: Figure[];
  notes: string[];
  timeline?: Timeline;
  distributions?: readonly Distribution[];
}

export type Phase = (context: PhaseContext) => Promise<PhaseResult>;

/** Runs in flight must end within this, otherwise the server has lost some. */
export const DRAIN_LIMIT_MS = 60_000;

/** The failures of a window as notes. */
export function failureNotes(errors: readonly string[]): string[] {
  return errors.map((text) => `failed: ${text}`);
}
