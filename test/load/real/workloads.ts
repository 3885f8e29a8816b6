/** The workloads of `npm run load -- --real`: flows of the folder `flows`, executed by the engines of `serve`. */

export const WORKLOADS = ["empty", "tasks", "waiting", "computing", "called", "children"] as const;
export type WorkloadName = (typeof WORKLOADS)[number];

export interface Workload {
  /** Runs of one round. */
  runs: number;
  parameters: Readonly<Record<string, number>>;
  /** What each run takes at least, in seconds. */
  atLeast: number;
}

export interface WorkloadSizes {
  /** Runs of the workloads `empty` and `tasks`. */
  shortRuns: number;
  waitingRuns: number;
  waitSeconds: number;
  computingRuns: number;
  computeSeconds: number;
  /** Runs of the workload `called`, and children of the one run of the workload `children`. */
  children: number;
}

export function workloadOf(name: WorkloadName, sizes: WorkloadSizes): Workload {
  switch (name) {
    case "empty":
    case "tasks":
      return { runs: sizes.shortRuns, parameters: {}, atLeast: 0 };
    case "waiting":
      return { runs: sizes.waitingRuns, parameters: { seconds: sizes.waitSeconds }, atLeast: sizes.waitSeconds };
    case "computing":
      return { runs: sizes.computingRuns, parameters: { seconds: sizes.computeSeconds }, atLeast: sizes.computeSeconds };
    case "called":
      return { runs: sizes.children, parameters: {}, atLeast: 0 };
    case "children":
      return { runs: 1, parameters: { count: sizes.children }, atLeast: 0 };
  }
}
