/** The server identifies a flow by project and name: a run requested by one file must not execute a flow of another file. */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { Millrace } from "../client/index.ts";

export interface FlowPlace {
  project: string;
  flow: string;
  source_dir: string;
  module: string;
}

/**
 * Why the file cannot have a run of its flow, or null: the server serves a flow of that name from another file and would run
 * that.
 */
export async function servedElsewhere(client: Millrace, place: FlowPlace): Promise<string | null> {
  const { project, flow } = place;
  const known = (await client.flows.list({ project })).find(({ name }) => name === flow);
  if (known === undefined || !known.live || pathOf(known) === pathOf(place)) return null;
  return `flow "${project}/${flow}" is already exported by ${join(known.source_dir, known.module)}, which the server serves: give one of the two another name`;
}

/** One file may have several paths through links. */
function pathOf({ source_dir, module }: Pick<FlowPlace, "source_dir" | "module">): string {
  const path = join(source_dir, module);
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
