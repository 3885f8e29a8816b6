/** A server with a folder of flows and its own engines, and a client that waits for stream messages. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { type CreateRun, Millrace, type Run, type StreamMessage } from "#sdk/client/index";
import { loadModule } from "#sdk/modules/load-module";
import type { Registration } from "#sdk/modules/registration";
import { serveWithEngines } from "./command-line.ts";
import { testFolder } from "./test-folder.ts";

export interface FlowServer {
  client: Millrace;
  home: string;
  /** Creates a run of a flow of the folder. */
  start(flow: string, parameters?: Record<string, unknown>): Promise<Run>;
  /** Resolves with the next matching message; earlier messages are skipped. */
  seen(matches: (message: StreamMessage) => boolean): Promise<void>;
  /** Resolves when the stream reports the run in a state of this type or name. */
  reached(runId: number, state: string): Promise<void>;
  /** Resolves when the stream reports an event of this name. */
  happened(name: string): Promise<void>;
}

/**
 * Flows are registered with their first run instead of by discovery, whose time limit may expire on a busy machine. The
 * server ends with the test.
 */
export async function serveFlows(t: Test, directory: string, ...flags: string[]): Promise<FlowServer> {
  const root = testFolder(t, { served: {} });
  const home = join(root, "home");
  const registrations = await registrationsIn(directory);
  await serveWithEngines(t, join(root, "served"), home, "--max-engines", "2", ...flags);
  const client = new Millrace({ home });
  const end = new AbortController();
  t.teardown(() => end.abort());
  const stream = client.stream({ signal: end.signal });
  const seen = async (matches: (message: StreamMessage) => boolean): Promise<void> => {
    for (let next = await stream.next(); next.done !== true; next = await stream.next()) if (matches(next.value)) return;
    throw new Error("the stream has ended");
  };
  await seen(({ event }) => event === "hello");
  return {
    client,
    home,
    seen,
    async start(flow, parameters = {}) {
      const registration = registrations.find((known) => known.flow === flow);
      if (registration === undefined) throw new Error(`there is no flow ${flow} in ${directory}`);
      return await client.runs.create({ ...(registration as CreateRun), parameters });
    },
    reached: (runId, state) =>
      seen(
        ({ event, data }) =>
          event === "run.updated" &&
          data.id === runId &&
          "state" in data &&
          (data.state.type === state || data.state.name === state),
      ),
    happened: (name) => seen(({ event, data }) => event === "event.created" && data.name === name),
  };
}

async function registrationsIn(directory: string): Promise<Registration[]> {
  const found: Registration[] = [];
  for (const file of readdirSync(directory)) {
    const { flows, error } = await loadModule(directory, file);
    if (error !== null) throw new Error(error);
    found.push(...flows.map(({ registration }) => registration));
  }
  return found;
}
