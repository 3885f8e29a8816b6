/** Running flows in tests: in this process, in simulated time, without a server. */
export { FakeClock } from "./fake-clock.ts";
export { type RecordedArtifact, type RecordedEvent, type RecordedTaskRun, Recording } from "./recording.ts";
export { type RunFlowOptions, runFlow } from "./run-flow.ts";
