import type { Figure } from "../figure.ts";
import type { Fleet } from "../fleet.ts";
import type { LoadOptions } from "../options.ts";
import type { Target } from "../target.ts";

export interface PhaseContext {
  target: Target;
  fleet: Fleet;
  options: LoadOptions;
}

/** The result of a phase: its figures, and notes that are needed to read them. */
export interface PhaseResult {
  figures: Figure[];
  notes: string[];
}

export type Phase = (context: PhaseContext) => Promise<PhaseResult>;

/** Runs in flight must end within this, otherwise the server has lost some. */
export const DRAIN_LIMIT_MS = 60_000;

/** The failures of a window as notes. */
export function failureNotes(errors: readonly string[]): string[] {
  return errors.map((text) => `failed: ${text}`);
}
