/** A flow in memory, with the options that dispatch needs, parsed once. */

/** The options that dispatch reads; all options are stored and passed to engines as sent. */
export interface FlowOptions {
  after: { flows: string[]; key: string | null; parameters: Record<string, unknown> } | null;
  crashRetries: number | null;
  disableAfter: [number, number, number] | null;
  /** Results of steps are stored, and a waiting run leaves its engine. */
  durable: boolean;
  /** Whether a run of the flow shares its engine with no other run; null: as `Flow.exclusive` decides. */
  exclusive: boolean | null;
  hasCrashHooks: boolean;
  /** State types for which the code declares a hook. */
  hooks: readonly unknown[];
  hasBulkComplete: boolean;
  isolated: boolean;
  maxConcurrent: number;
  onOverlap: "enqueue" | "skip" | "cancel_new";
  priority: number;
  resources: Record<string, number>;
  timeoutSeconds: number | null;
}

export interface Flow {
  id: number;
  external_id: string;
  project: string;
  name: string;
  module: string;
  source_dir: string;
  description: string | null;
  flow_group: string | null;
  tags: string[];
  parameter_schema: Record<string, unknown> | null;
  /** All options as sent, as canonical JSON text. */
  optionsText: string;
  options: FlowOptions;
  /** The error of loading the module, or null. */
  error: string | null;
  /** The error in the schedules that the code declares, or null; the flow runs all the same. */
  schedule_error: string | null;
  created_at: number;
  last_seen_at: number;
  /** Registered from code by this server process. */
  live: boolean;
  /** A run of the flow shares its engine with no other run. Without an option, flows whose runs are never repeated are so. */
  exclusive: boolean;
  /** The highest priority of the flows that declare this flow as upstream; null without any. */
  inheritedPriority: number | null;
  /** Runs of this flow that hold an assignment. */
  handedOut: number;
  /** Runs of this flow that have started and left their engine to wait. */
  away: number;
}

export function flowKey(project: string, name: string): string {
  return `${project}/${name}`;
}

/** The resource that implements max_concurrent. */
export function concurrencyResource(flow: Flow): string {
  return `flow:${flow.project}/${flow.name}`;
}

/** The group in which a flow is listed: the declared group, else its project. */
export function groupOf(flow: Flow): string {
  return flow.flow_group ?? flow.project;
}

/** Niceness of the engines that run a flow of this priority. */
export function niceOf(priority: number): number {
  return priority < 0 ? Math.min(19, -priority) : 0;
}

/** Reads the options used here from the sent options; values of other types count as unset. */
export function readOptions(sent: Record<string, unknown>): FlowOptions {
  const text = (name: string): string | null => (typeof sent[name] === "string" ? (sent[name] as string) : null);
  const number = (name: string): number | null => (typeof sent[name] === "number" ? (sent[name] as number) : null);
  const onOverlap = text("on_overlap");
  return {
    after: readAfter(sent["after"]),
    crashRetries: number("crash_retries"),
    disableAfter: readDisableAfter(sent["disable_after"]),
    durable: sent["durable"] === true,
    exclusive: typeof sent["exclusive"] === "boolean" ? sent["exclusive"] : null,
    hasCrashHooks: sent["has_crash_hooks"] === true,
    hooks: Array.isArray(sent["hooks"]) ? sent["hooks"] : [],
    hasBulkComplete: sent["has_bulk_complete"] === true,
    isolated: sent["isolated"] === true,
    maxConcurrent: Math.max(0, number("max_concurrent") ?? 0),
    onOverlap: onOverlap === "skip" || onOverlap === "cancel_new" ? onOverlap : "enqueue",
    priority: Math.trunc(number("priority") ?? 0),
    resources: readAmounts(sent["resources"]),
    timeoutSeconds: number("timeout_seconds"),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Positive amounts by resource name; other values are ignored. */
export function readAmounts(sent: unknown): Record<string, number> {
  if (!isRecord(sent)) return {};
  return Object.fromEntries(
    Object.entries(sent).filter((entry): entry is [string, number] => typeof entry[1] === "number" && entry[1] > 0),
  );
}

function readAfter(sent: unknown): FlowOptions["after"] {
  if (!isRecord(sent) || typeof sent["flow"] !== "string") return null;
  const listed = Array.isArray(sent["flows"]) ? sent["flows"].filter((name): name is string => typeof name === "string") : [];
  return {
    flows: listed.length > 0 ? listed : [sent["flow"]],
    key: typeof sent["key"] === "string" ? sent["key"] : null,
    parameters: isRecord(sent["parameters"]) ? sent["parameters"] : {},
  };
}

function readDisableAfter(sent: unknown): [number, number, number] | null {
  if (!Array.isArray(sent)) return null;
  const [count, windowSeconds, persistSeconds] = sent as unknown[];
  if (typeof count !== "number" || typeof windowSeconds !== "number" || typeof persistSeconds !== "number") return null;
  return [count, windowSeconds, persistSeconds];
}
