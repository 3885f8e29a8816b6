/** Makes a run durable at the begin of an attempt. */
import { type ActiveRun, abortRun } from "../execution/active-run.ts";
import { writeLog } from "../execution/run-log.ts";
import type { RunServices } from "../execution/run-services.ts";
import { DurableRun } from "./durable-run.ts";
import type { DurableFacts } from "./durable-services.ts";

const WARNING = 30;

export function beginDurable(run: ActiveRun, facts: DurableFacts): void {
  const { id: runId, attempt, controller, clock, home, report, services } = run;
  const durable = new DurableRun({
    ...{ facts, runId, attempt, controller, clock, home, report },
    services: services.durable(facts.lease),
    warn: (text) => writeLog(run, null, WARNING, "millrace.run", text),
    abort: (reason) => abortRun(run, reason),
    waited: (name, wait, fromUs, toUs) => {
      if (run.trace?.isSampled) run.trace.note({ kind: "wait", name, wait, fromUs, toUs });
    },
  });
  run.durable = durable;
  run.services = whileAsking(services, durable);
}

/** Services whose requests keep the run in its engine, so that none fails because the run leaves it. */
function whileAsking(services: RunServices, durable: DurableRun): RunServices {
  const during = async <T>(ask: () => Promise<T>): Promise<T> => {
    const leave = durable.enter();
    try {
      return await ask();
    } finally {
      leave();
    }
  };
  const { variables } = services;
  return {
    answers: () => during(() => services.answers()),
    acquire: (resources, waitMs, signal) => during(() => services.acquire(resources, waitMs, signal)),
    release: (lease) => during(() => services.release(lease)),
    start: async (...given) => {
      const started = await during(() => services.start(...given));
      return started.map(({ id, result }) => ({ id, result: () => during(result) }));
    },
    durable: (lease) => services.durable(lease),
    variables: {
      get: (name) => during(() => variables.get(name)),
      set: (name, value, options) => during(() => variables.set(name, value, options)),
      remove: (name) => during(() => variables.remove(name)),
    },
  };
}
