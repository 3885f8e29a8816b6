/**
 * Likely mistakes in the declarations of a module: options that do not exist, flows that no export names. In a process that
 * serves flow files, the importer of the module collects these notes; a script prints them.
 */
import { nearestName } from "#protocol/values/nearest-name";
import { shared } from "../execution/shared-state.ts";

export interface DeclarationNotes {
  warnings: string[];
  /** Names of the flows that were declared. */
  flows: string[];
}

/** Lists every option of a type once, so that the compiler reports a missing one. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Collects the notes of declarations while `load` imports a module. */
export async function withNotes<T>(load: () => Promise<T>): Promise<{ value: T; notes: DeclarationNotes }> {
  const notes: DeclarationNotes = { warnings: [], flows: [] };
  shared.notes = notes;
  try {
    return { value: await load(), notes };
  } finally {
    shared.notes = null;
  }
}

export function noteFlow(name: string): void {
  shared.notes?.flows.push(name);
}

/** @param owner the owner of the options in the author's terms: `flow "daily"` */
export function noteUnknownOptions<Options>(owner: string, given: unknown, known: OptionNames<Options>): void {
  if (typeof given !== "object" || given === null) return;
  const names = Object.keys(known);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue;
    const nearest = nearestName(name, names);
    const advice = nearest === null ? `known are ${names.join(", ")}` : `did you mean "${nearest}"?`;
    noteWarning(`${owner} has the unknown option "${name}", which does nothing; ${advice}`);
  }
}

/** Notes a likely mistake, one line. */
export function noteWarning(text: string): void {
  if (shared.notes != null) shared.notes.warnings.push(text);
  // In a served process later declarations happen inside runs; their module was checked when it was imported.
  else if (!shared.served) process.stderr.write(`millrace: ${text}\n`);
}
