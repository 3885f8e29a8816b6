/** Runs flows and calls rules and routes in tests: in this process, in simulated time, without a server. */
export { callHook, callRoute, type TestDelivery } from "./call-route.ts";
export { FakeClock } from "./fake-clock.ts";
export { fireRule, type TestEvent } from "./fire-rule.ts";
export { type RecordedArtifact, type RecordedEvent, type RecordedTaskRun, Recording } from "./recording.ts";
export { type RunFlowOptions, runFlow } from "./run-flow.ts";
export type { GivenEvent } from "./test-durable.ts";
