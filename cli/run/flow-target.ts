/** Which flow `millrace run` refers to, and how it is sent to the server. */

import { existsSync } from "node:fs";
import { basename, dirname, extname, isAbsolute, relative, resolve, sep } from "node:path";
import { engineLine } from "#protocol/engine-command";
import type { CreateRunBody } from "#protocol/records/run";
import type { FlowSummary, Millrace } from "#sdk/client/index";
import type { FlowPlace } from "#sdk/modules/served-elsewhere";
import { CommandError } from "../exit-code.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { jsonOrText } from "../terminal/value.ts";
import { problemLines } from "./code-problems.ts";

const MODULE = /\.[cm]?[tj]sx?$/;

/** Number of flows listed when the named flow is not among them. */
const KNOWN_SHOWN = 8;

/** A flow of a file, by the exports of its module. */
export interface FileTarget {
  kind: "file";
  path: string;
  /** null: the only flow of the file. */
  flow: string | null;
}

/** A flow the server knows. */
export interface NameTarget {
  kind: "name";
  project: string | null;
  flow: string;
}

/** FILE:FLOW, FILE, FLOW or PROJECT/FLOW. A name that is also a file refers to the file. */
export function parseTarget(text: string): FileTarget | NameTarget {
  const colon = text.lastIndexOf(":");
  // A single letter before the colon is a drive, not a file.
  if (colon > 1) {
    const path = resolve(text.slice(0, colon));
    const flow = text.slice(colon + 1);
    if (flow === "") throw new CommandError(`${text} names no flow`, "Write FILE:FLOW, for example pipeline.ts:daily.");
    if (!existsSync(path)) throw new CommandError(`there is no file ${path}`);
    return { kind: "file", path, flow };
  }
  const path = resolve(text);
  if (MODULE.test(text) || (/\.\w+$/.test(text) && existsSync(path))) {
    if (!existsSync(path)) throw new CommandError(`there is no file ${path}`);
    return { kind: "file", path, flow: null };
  }
  const slash = text.indexOf("/");
  return { kind: "name", project: slash < 0 ? null : text.slice(0, slash), flow: text.slice(slash + 1) };
}

/** The fields of a creation that identify (and, for a file, register) the flow. */
export type FlowReference = Pick<CreateRunBody, "flow" | "project"> & Partial<CreateRunBody>;

/**
 * Loads the file's flow. If the server serves a directory that contains the file, the flow belongs to that directory, so that
 * the run belongs to the flow the server lists.
 */
export async function loadTarget(target: FileTarget, servedDir: string | null): Promise<FlowReference & FlowPlace> {
  if (!MODULE.test(target.path)) throw otherLanguage(target);
  const inside = servedDir === null ? null : relative(servedDir, target.path);
  const isServed = inside !== null && inside !== "" && !inside.startsWith("..") && !isAbsolute(inside);
  const sourceDir = isServed && servedDir !== null ? servedDir : dirname(target.path);
  const module = relative(sourceDir, target.path).split(sep).join("/");
  const { loadModule } = await import("#sdk/modules/load-module");
  const loaded = await loadModule(sourceDir, module);
  if (loaded.error !== null) {
    const { error, frame } = loaded;
    throw new CommandError(`${target.path} cannot be loaded: ${error}${frame === "" ? "" : `\n${frame}`}`);
  }
  const { flows, warnings } = loaded;
  for (const warning of warnings) process.stderr.write(`millrace: ${module}: ${printable(warning)}\n`);
  const names = flows.map((flow) => flow.definition.name);
  if (names.length === 0) {
    throw new CommandError(`${target.path} exports no flow`, "Export what flow() returns: export const daily = flow(...).");
  }
  const found =
    target.flow === null && flows.length === 1 ? flows[0] : flows.find((flow) => flow.definition.name === target.flow);
  if (found === undefined) {
    const wanted = target.flow === null ? `${target.path} has several flows` : `${target.path} has no flow "${target.flow}"`;
    throw new CommandError(wanted, `It has: ${names.join(", ")}.`);
  }
  // The option types of SDK and protocol describe the same record.
  return found.registration as FlowReference & FlowPlace;
}

function otherLanguage({ path, flow }: FileTarget): CommandError {
  const name = basename(path);
  return new CommandError(
    `${name} is no module in TypeScript or JavaScript, so its flows need an engine of their own`,
    `Name it in the millrace.toml of the served directory:

[engines]
${engineLine(`*${extname(path)}`)}

A flow of it is made known by its first run over HTTP (docs/guides/engines-in-other-languages.md); then: millrace run ${flow ?? "FLOW"}`,
  );
}

/** The reference to a target's flow for a creation. */
export async function findTarget(client: Millrace, target: NameTarget): Promise<FlowReference> {
  const { name, project, parameter_schema } = await findFlow(client, target);
  return { flow: name, project, parameter_schema };
}

/** Finds a flow by name. @throws CommandError if there is none, or one in each of several projects. */
export async function findFlow(client: Millrace, { flow, project }: NameTarget): Promise<FlowSummary> {
  const [first, ...others] = await flowsNamed(client, flow, project ?? undefined);
  if (others.length === 0) return first;
  const choices = [first, ...others].map((match) => `${match.project}/${match.name}`).join(", ");
  throw new CommandError(`flow "${flow}" exists in several projects`, `Name one: ${choices}.`);
}

/** The flows of a name, one per project. @throws CommandError that lists the known flows if there is none of that name. */
export async function flowsNamed(
  client: Millrace,
  name: string,
  project: string | undefined,
): Promise<[FlowSummary, ...FlowSummary[]]> {
  const flows = await client.flows.list({ project });
  const [first, ...others] = flows.filter((flow) => flow.name === name);
  if (first !== undefined) return [first, ...others];
  const known = flows.map((flow) => flow.name).slice(0, KNOWN_SHOWN);
  const more = flows.length > KNOWN_SHOWN ? ` and ${flows.length - KNOWN_SHOWN} more` : "";
  const where = project === undefined ? "It has" : `Project ${project} has`;
  const has =
    known.length === 0 ? `${where} no flows yet; name a file: millrace run FILE:FLOW.` : `${where}: ${known.join(", ")}${more}.`;
  throw new CommandError(`the server knows no flow "${name}"`, `${has}${await unusedFiles(client)}`);
}

/** Files that may contain the flow, each with its error. */
async function unusedFiles(client: Millrace): Promise<string> {
  const { code_problems } = await client.settings();
  const lines = problemLines(
    code_problems.filter(({ kind }) => kind !== "warning"),
    new Terminal(process.stderr),
  );
  return lines.map((line) => `\n${line}`).join("");
}

/**
 * Parameters from `key=value` texts. A parameter that the schema declares as text stays text; other values are parsed as JSON
 * where possible, so that 3, true and [1, 2] keep their types.
 */
export function parseParameters(
  pairs: readonly string[],
  schema: Record<string, unknown> | null | undefined,
): Record<string, unknown> {
  const properties = (schema?.["properties"] ?? {}) as Record<string, Record<string, unknown> | undefined>;
  const parameters: Record<string, unknown> = {};
  for (const [key, text] of pairs.map(splitPair)) {
    parameters[key] = takesText(properties[key]) ? text : jsonOrText(text);
  }
  return parameters;
}

/** The name and the text of `key=value`. */
export function splitPair(pair: string): [key: string, text: string] {
  const equals = pair.indexOf("=");
  if (equals < 1) throw new CommandError(`"${pair}" is not a parameter`, "Write -p key=value.");
  return [pair.slice(0, equals), pair.slice(equals + 1)];
}

function takesText(property: Record<string, unknown> | undefined): boolean {
  if (property === undefined) return false;
  const branches = Array.isArray(property["anyOf"]) ? (property["anyOf"] as Record<string, unknown>[]) : [];
  return property["type"] === "string" || branches.some(takesText);
}
