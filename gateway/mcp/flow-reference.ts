/** How arguments name a flow: by its name, or as project/flow when several projects have a flow of that name. */
import type { FlowSummary } from "#protocol/records/flow";
import type { AskApi } from "./api-calls.ts";
import { ToolFailure } from "./tool-failure.ts";

/** The flow that the reference names. Throws a ToolFailure when no flow or more than one matches. */
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

/** For an empty list: throws a ToolFailure if the flow in the filter does not exist. */
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

/** Filters of a list by project and flow; `project/flow` is split unless the project is given separately. */
export function flowFilter({ project, flow }: FlowFilter): FlowFilter {
  const slash = flow?.indexOf("/") ?? -1;
  if (flow === undefined || project !== undefined || slash < 1) return { project, flow };
  return { project: flow.slice(0, slash), flow: flow.slice(slash + 1) };
}
