/** `millrace artifacts` and its options. */

import { type CommandSpec, WATCH } from "../command-spec.ts";
import type { ConnectionOptions } from "../connection.ts";
import type { ArtifactListOptions } from "./artifacts.ts";

const LS: CommandSpec = {
  name: "ls",
  description: "list artifacts, newest first",
  connects: true,
  options: [
    { flags: "--run <id>", description: "only of this run" },
    { flags: "--flow <name>", description: "only of this flow" },
    { flags: "--project <name>", description: "only of this project" },
    { flags: "--kind <kind>", description: "markdown, table, progress, link or image" },
    { flags: "--key <key>", description: "only under this key" },
    { flags: "--limit <n>", description: "how many", default: "20" },
    WATCH,
  ],
  async run(_args, options: ArtifactListOptions) {
    return await (await import("./artifacts.ts")).listArtifacts(options);
  },
};

const SHOW: CommandSpec = {
  name: "show",
  description: "show an artifact",
  connects: true,
  arguments: [{ name: "<id>", description: "id of the artifact" }],
  async run([id = ""], options: ConnectionOptions) {
    return await (await import("./artifacts.ts")).showArtifact(id, options);
  },
};

export const ARTIFACTS: CommandSpec = {
  name: "artifacts",
  description: "look at what runs published",
  commands: [LS, SHOW],
};
