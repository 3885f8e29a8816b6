import { uuidv7 } from "uuidv7";
import { ARTIFACT_BYTES_MAX } from "#protocol/limits";
import { requireScope, type Scope } from "./active-run.ts";
import type { ArtifactPublished } from "./report-item.ts";

export interface ArtifactOptions {
  /** Groups artifacts across runs: all under one key form a history. */
  key?: string;
}

export interface TableOptions extends ArtifactOptions {
  /** Column names; needed where rows are arrays, else taken from the rows' keys in the order they are first seen. */
  columns?: readonly string[];
}

export interface ProgressOptions extends ArtifactOptions {
  label?: string;
}

export interface ImageOptions extends ArtifactOptions {
  /** Media type of image bytes. Default image/png. */
  mediaType?: string;
}

/**
 * Publishes small display records of the current run or task run. Each returns the artifact's id.
 * Every function throws outside a run, and a RangeError when the data exceed 1 MB.
 */
export const artifact = {
  /** Markdown text. Data: `{ title, text }`. */
  markdown(title: string, text: string, options: ArtifactOptions = {}): string {
    return publish("markdown", { title, text }, options.key);
  },

  /** A table of objects or of arrays. Data: `{ title, columns, rows }`. */
  table(title: string, rows: readonly object[], options: TableOptions = {}): string {
    return publish("table", { title, columns: options.columns ?? columnsOf(rows), rows }, options.key);
  },

  /** A progress bar from 0 to 100. Data: `{ title, value, label }`. Under one key each call adds to the history. */
  progress(title: string, value: number, options: ProgressOptions = {}): string {
    return publish("progress", { title, value: percent(value), label: options.label ?? null }, options.key);
  },

  /** A link. Data: `{ text, url }`. */
  link(text: string, url: string | URL, options: ArtifactOptions = {}): string {
    return publish("link", { text, url: String(url) }, options.key);
  },

  /** An image by address or by its bytes, which are embedded. Data: `{ title, src }`. */
  image(title: string, source: string | URL | Uint8Array, options: ImageOptions = {}): string {
    const src =
      source instanceof Uint8Array
        ? `data:${options.mediaType ?? "image/png"};base64,${Buffer.from(source).toString("base64")}`
        : String(source);
    return publish("image", { title, src }, options.key);
  },
};

/** Shows how far the current task run (or the run) is, from 0 to 100, in one bar that is updated in place. */
export function progress(value: number, label?: string): void {
  const scope = requireScope("progress()");
  const taskRunId = scope.task?.externalId ?? null;
  const id = scope.run.progress.get(taskRunId) ?? uuidv7();
  scope.run.progress.set(taskRunId, id);
  send(scope, "progress", { value: percent(value), label: label ?? null }, null, id);
}

function publish(kind: ArtifactPublished["artifact_kind"], data: object, key: string | undefined): string {
  const id = uuidv7();
  send(requireScope(`artifact.${kind}()`), kind, data, key ?? null, id);
  return id;
}

function send(scope: Scope, kind: ArtifactPublished["artifact_kind"], data: object, key: string | null, id: string): void {
  const text = JSON.stringify(data);
  const bytes = Buffer.byteLength(text);
  if (bytes > ARTIFACT_BYTES_MAX) throw new RangeError(`artifact exceeds 1 MB (${bytes} bytes)`);
  scope.run.report({
    kind: "artifact",
    external_id: id,
    artifact_kind: kind,
    key,
    // Parsed back, so that what is recorded is plain JSON and no later change of the user's object can reach it.
    data: JSON.parse(text) as unknown,
    task_run_external_id: scope.task?.externalId ?? null,
  });
}

function columnsOf(rows: readonly object[]): string[] {
  return [...new Set(rows.flatMap((row) => (Array.isArray(row) ? [] : Object.keys(row))))];
}

function percent(value: number): number {
  return Math.min(100, Math.max(0, Number(value)));
}
