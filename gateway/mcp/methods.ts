/** The methods of the protocol and their answers. Independent of HTTP. */

import { LOGS_PAGE, MCP_ARTIFACTS_PAGE } from "#protocol/limits";
import {
  MCP_PROMPTS,
  MCP_PROTOCOL_VERSION,
  MCP_RESOURCE_MIME,
  MCP_RESOURCE_TEMPLATES,
  MCP_SCHEME,
  mcpInstructions,
  resourceUri,
} from "#protocol/mcp/mcp";
import { listTools } from "#protocol/mcp/mcp-tools";
import type { ArtifactsPage } from "#protocol/records/artifact";
import { prettyJson } from "#protocol/values/json";
import { isObject, type RpcOutcome, rpcError } from "./json-rpc.ts";
import { logsOfRun } from "./run-tools.ts";
import { type CallContext, callTool } from "./tool-call.ts";
import { ToolFailure } from "./tool-failure.ts";

export interface MethodContext extends CallContext {
  /** Version of the package. */
  version: string;
  /** Wall clock, microseconds since the Unix epoch. */
  wallUs(): number;
}

type Params = Readonly<Record<string, unknown>>;
type Method = (context: MethodContext, params: Params) => RpcOutcome | Promise<RpcOutcome>;

const METHODS: Readonly<Record<string, Method>> = {
  initialize: ({ version, readOnly }) => ({
    result: {
      protocolVersion: MCP_PROTOCOL_VERSION,
      capabilities: { prompts: {}, resources: {}, tools: {} },
      serverInfo: { name: "millrace", version },
      instructions: mcpInstructions(readOnly),
    },
  }),
  ping: () => ({ result: {} }),
  "tools/list": ({ readOnly }) => ({ result: { tools: listTools(readOnly) } }),
  "tools/call": callTool,
  "resources/list": () => ({ result: { resources: [] } }),
  "resources/templates/list": () => ({
    result: {
      resourceTemplates: MCP_RESOURCE_TEMPLATES.map(({ part, name, description }) => ({
        uriTemplate: resourceUri(part, "{id}"),
        name,
        description,
        mimeType: MCP_RESOURCE_MIME,
      })),
    },
  }),
  "resources/read": readResource,
  "prompts/list": () => ({
    result: {
      prompts: Object.entries(MCP_PROMPTS).map(([name, prompt]) => {
        const { title, description } = prompt;
        const shown = prompt.arguments.map(({ name, description, required }) => ({ name, description, required }));
        return { name, title, description, arguments: shown };
      }),
    },
  }),
  "prompts/get": (_context, params) => renderPrompt(params),
};

/** Answers a request. Rejects only on defects, or when the client has disconnected. */
export async function answerMethod(context: MethodContext, method: string, params: Params): Promise<RpcOutcome> {
  const answer = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  return answer === undefined ? rpcError("method_not_found", `method ${method} is not supported`) : answer(context, params);
}

const RUN_PART = new RegExp(`^${MCP_SCHEME}://runs/(\\d{1,15})/(logs|artifacts)$`);

async function readResource(context: MethodContext, { uri }: Params): Promise<RpcOutcome> {
  const [, idText, part] = (typeof uri === "string" && RUN_PART.exec(uri)) || [];
  if (idText === undefined) {
    const forms = MCP_RESOURCE_TEMPLATES.map((template) => resourceUri(template.part, "{id}")).join(" and ");
    return rpcError("resource_not_found", `no resource ${JSON.stringify(uri ?? null)}; there are ${forms}`);
  }
  try {
    const text = prettyJson(await readRunPart(context, Number(idText), part === "logs"));
    return { result: { contents: [{ uri, mimeType: MCP_RESOURCE_MIME, text }] } };
  } catch (cause) {
    if (!(cause instanceof ToolFailure)) throw cause;
    return rpcError("internal", cause.message);
  }
}

async function readRunPart({ ask, wallUs }: MethodContext, run_id: number, logs: boolean): Promise<unknown> {
  if (logs) return { as_of: wallUs(), logs: (await logsOfRun(ask, run_id, { limit: LOGS_PAGE[0], tail: true })).logs, run_id };
  const page = (await ask("listArtifacts", { query: { run_id, limit: MCP_ARTIFACTS_PAGE[1] } })) as ArtifactsPage;
  const artifacts = page.items.reverse().map(({ run_name, flow_name, project, ...own }) => own);
  // `next_cursor` marks a truncated page: list_artifacts takes it to list earlier artifacts.
  const rest = page.next_cursor === null ? {} : { next_cursor: page.next_cursor };
  return { artifacts, ...rest, run_id };
}

function renderPrompt({ name, arguments: given }: Params): RpcOutcome {
  const prompt = typeof name === "string" && Object.hasOwn(MCP_PROMPTS, name) ? MCP_PROMPTS[name] : undefined;
  if (prompt === undefined) {
    return rpcError("invalid_params", `unknown prompt ${JSON.stringify(name ?? null)}; prompts/list has the prompts`);
  }
  const values: Record<string, string> = {};
  for (const argument of prompt.arguments) {
    const value = isObject(given) ? given[argument.name] : undefined;
    const text = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
    if (text === "" && argument.required) return rpcError("invalid_params", `${argument.name} is required`);
    if (text !== "" && !argument.form.test(text))
      return rpcError("invalid_params", `${argument.name} must be ${argument.expected}`);
    values[argument.name] = text;
  }
  const message = { role: "user", content: { type: "text", text: prompt.render(values) } };
  return { result: { description: prompt.description, messages: [message] } };
}
