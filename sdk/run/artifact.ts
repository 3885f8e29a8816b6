import { uuidv7 } from "uuidv7";
import { ARTIFACT_BYTES_MAX } from "#protocol/limits";
import type { ArtifactKind } from "#protocol/records/artifact";
import { checkArtifactData } from "#protocol/records/artifact-data";
import { currentScope, type Scope } from "../execution/active-run.ts";

/** Options of every artifact. */
export interface ArtifactOptions {
  /** Groups artifacts across runs: all artifacts under one key form a history. */
  key?: string;
  /** Id of the run the artifact belongs to. Default: the run around the call. */
  run?: number;
}

/** Options of `artifact.table`. */
export interface TableOptions extends ArtifactOptions {
  /** Column names; required if rows are arrays. Default: the rows' keys in order of appearance. */
  columns?: readonly string[];
}

/** Options of `artifact.progress`. */
export interface ProgressOptions extends ArtifactOptions {
  /** Text beside the bar. */
  label?: string;
}

/** Options of `artifact.image`. */
export interface ImageOptions extends ArtifactOptions {
  /** Media type of image bytes. Default image/png. */
  mediaType?: string;
}

/**
 * Publishes small display records of the current run or task run, or of the run given as `run`. Each call resolves to the
 * artifact's UUID. Inside the run the artifact is recorded at once, so the promise need not be awaited. Outside a run and
 * without `run` it is only printed to the console, as log lines are.
 * Every function throws synchronously: RangeError when the data exceed 1 MB, TypeError when the data do not fit the kind.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { artifact, flow } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const report = flow("report", async () => {
 *   await artifact.markdown("Sales", "**2** orders today");
 *   await artifact.table("Orders", [{ id: 1, total: 9.5 }, { id: 2, total: 3 }], { key: "orders" });
 *   await artifact.link("The shop", "https://shop.example");
 * });
 *
 * const { artifacts } = await runFlow(report);
 * assert.deepEqual(artifacts.map(({ kind }) => kind), ["markdown", "table", "link"]);
 * ```
 */
export const artifact = {
  /** Markdown text. Data: `{ title, text }`. */
  markdown(title: string, text: string, options: ArtifactOptions = {}): Promise<string> {
    return publish("markdown", { title, text }, options);
  },

  /** A table of objects or of arrays. Data: `{ title, columns, rows }`. */
  table(title: string, rows: readonly object[], options: TableOptions = {}): Promise<string> {
    return publish("table", { title, columns: options.columns ?? columnsOf(rows), rows }, options);
  },

  /** A progress bar from 0 to 100. Data: `{ title, value, label }`. Under one key each call adds to the history. */
  progress(title: string, value: number, options: ProgressOptions = {}): Promise<string> {
    return publish("progress", { title, value: percent(value), label: options.label ?? null }, options);
  },

  /** A link. Data: `{ text, url }`. */
  link(text: string, url: string | URL, options: ArtifactOptions = {}): Promise<string> {
    return publish("link", { text, url: String(url) }, options);
  },

  /** An image by its address or by its bytes, which are embedded. Data: `{ title, src }`. */
  image(title: string, source: string | URL | Uint8Array, options: ImageOptions = {}): Promise<string> {
    const src =
      source instanceof Uint8Array
        ? `data:${options.mediaType ?? "image/png"};base64,${Buffer.from(source).toString("base64")}`
        : String(source);
    return publish("image", { title, src }, options);
  },
};

/**
 * Shows the progress of the current task run (else of the run) from 0 to 100, in one bar that is updated in place. Does nothing
 * outside a run.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, progress } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const copy = flow("copy", async () => {
 *   progress(50, "a.csv");
 *   progress(100, "b.csv");
 * });
 *
 * const { artifacts } = await runFlow(copy);
 * assert.deepEqual(artifacts.map(({ data }) => data), [{ value: 100, label: "b.csv" }]);
 * ```
 */
export function progress(value: number, label?: string): void {
  const scope = currentScope();
  if (scope === undefined) return;
  const taskRunId = scope.task?.externalId ?? null;
  const id = scope.run.progress.get(taskRunId) ?? uuidv7();
  scope.run.progress.set(taskRunId, id);
  report(scope, "progress", plainData("progress", { value: percent(value), label: label ?? null }), null, id);
}

function publish(kind: ArtifactKind, given: object, { key = null, run }: { key?: string | null; run?: number }): Promise<string> {
  const data = plainData(kind, given);
  const scope = currentScope();
  if (run !== undefined && run !== scope?.run.id) return send(kind, data, key, run);
  const id = uuidv7();
  if (scope === undefined) console.info(`${kind} artifact, kept inside a run only:`, given);
  else report(scope, kind, data, key, id);
  return Promise.resolve(id);
}

function report(scope: Scope, kind: ArtifactKind, data: Record<string, unknown>, key: string | null, id: string): void {
  scope.run.report({
    kind: "artifact",
    external_id: id,
    artifact_kind: kind,
    key,
    data,
    task_run_external_id: scope.task?.externalId ?? null,
  });
}

async function send(kind: ArtifactKind, data: Record<string, unknown>, key: string | null, run: number): Promise<string> {
  const { withHomeServer } = await import("../script/home-server.ts");
  return (await withHomeServer(({ client }) => client.artifacts.create({ run_id: run, kind, data, key }))).external_id;
}

/** Plain JSON, so that later changes of the user's object cannot alter the record. */
function plainData(kind: ArtifactKind, data: object): Record<string, unknown> {
  const text = JSON.stringify(data);
  const bytes = Buffer.byteLength(text);
  if (bytes > ARTIFACT_BYTES_MAX) throw new RangeError(`artifact exceeds 1 MB (${bytes} bytes)`);
  const plain = JSON.parse(text) as Record<string, unknown>;
  const wrong = checkArtifactData(kind, plain);
  if (wrong !== null) throw new TypeError(wrong);
  return plain;
}

function columnsOf(rows: readonly object[]): string[] {
  return [...new Set(rows.flatMap((row) => (Array.isArray(row) ? [] : Object.keys(row))))];
}

function percent(value: number): number {
  return Math.min(100, Math.max(0, Number(value)));
}
