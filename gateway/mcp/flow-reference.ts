/** How arguments name a flow: by its name, or as project/flow where several projects have one of that name. */
import type { FlowSummary } from "#protocol/flow";
import type { AskApi } from "./api-calls.ts";
import { ToolFailure } from "./tool-failure.ts";

/** The one flow that is meant. Throws a ToolFailure when there is none, or more than one. */
export async function findFlow(ask: AskApi, reference: string, project?: string | undefined): Promise<FlowSummary> {
  const flows = (await ask("listFlows", { query: { project, reference } })) as FlowSummary[];
  const exact = flows.find((flow) => `${flow.project}/${flow.name}` === reference);
  const named = exact === undefined ? flows.filter(({ name }) => name === reference) : [exact];
  const [flow, second] = named;
  if (second !== undefined) {
    const choices = named.map((each) => `${each.project}/${each.name}`).join(", ");
    throw new ToolFailure(`flow "${reference}" exists in several projects; use project/flow: ${choices}`);
  }
  if (flow === undefined) throw notRegistered(reference);
  return flow;
}

function notRegistered(reference: string): ToolFailure {
  return new ToolFailure(`flow "${reference}" is not registered. list_flows shows which flows there are.`);
}

/** For a list that is empty: a flow it was asked for may be one that there is not. Throws a ToolFailure then. */
export async function requireFlow(ask: AskApi, reference?: string | undefined, project?: string | undefined): Promise<void> {
  if (reference === undefined) return;
  const wanted = flowFilter({ project, flow: reference });
  const flows = (await ask("listFlows", { query: { project: wanted.project, reference: wanted.flow } })) as FlowSummary[];
  if (!flows.some((flow) => flow.name === wanted.flow && flow.project === (wanted.project ?? flow.project)))
    throw notRegistered(reference);
}

interface FlowFilter {
  project?: string | undefined;
  flow?: string | undefined;
}

/** Filters of a list by project and flow; `project/flow` is taken apart unless the project is given on its own. */
export function flowFilter({ project, flow }: FlowFilter): FlowFilter {
  const slash = flow?.indexOf("/") ?? -1;
  if (flow === undefined || project !== undefined || slash < 1) return { project, flow };
  return { project: flow.slice(0, slash), flow: flow.slice(slash + 1) };
}
