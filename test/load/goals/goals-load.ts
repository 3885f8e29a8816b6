/** `npm run load -- --goals`: the steps one after the other, and the table of goals from their reports. */
import { commandText } from "../command-text.ts";
import type { MeasureContext, Measured, Mode } from "../mode.ts";
import type { Progress } from "../progress.ts";
import type { Goal } from "../report/goal.ts";
import type { Part } from "../report/report.ts";
import { summarize } from "../report/summary.ts";
import { GOAL_FIGURES, type GoalFigure } from "./floors.ts";
import { GOALS_USAGE, type GoalsOptions, parseGoalsCommandLine } from "./goals-options.ts";
import { type Step, type StepName, stepsOf } from "./steps.ts";

/** Figure of the load generator's processor time. */
const GENERATOR = "generator CPU per run";

export const GOALS: Mode = {
  usage: GOALS_USAGE,
  parse(args) {
    const { options, output } = parseGoalsCommandLine(args);
    return { output, options: (context) => measureGoals(options, context) };
  },
};

async function measureGoals(options: GoalsOptions, context: MeasureContext): Promise<Measured> {
  const parts = new Map<StepName, readonly Part[]>();
  const steps = stepsOf(options);
  for (const [index, step] of steps.entries()) {
    const progress = within(context.progress, `${step.name} (${index + 1} of ${steps.length})`);
    parts.set(step.name, await measureStep(step, { ...context, progress }));
  }
  const goals = GOAL_FIGURES.map((figure) => goalOf(figure, steps, parts));
  return { goals, parts: [...parts.values()].flat() };
}

/** A step that fails leaves its goals unmeasured, and the other steps their figures. */
async function measureStep({ mode, flags, args }: Step, context: MeasureContext): Promise<readonly Part[]> {
  const command = commandText([...flags, ...args]);
  try {
    const { parts } = await mode.parse(args).options({ ...context, command });
    return parts;
  } catch (error) {
    if (context.interrupt.aborted) throw error;
    const why = `failed: ${error instanceof Error ? error.message : String(error)}`;
    context.progress.step(why);
    return [{ title: command, command, facts: [why], options: {}, phases: [], rounds: 0, targets: [], records: [] }];
  }
}

function within(progress: Progress, name: string): Progress {
  return { step: (text) => progress.step(`${name}: ${text}`), live: (text) => progress.live(text) };
}

function goalOf(
  { step, phase, figure, of, factor = 1, ...floor }: GoalFigure,
  steps: readonly Step[],
  parts: ReadonlyMap<StepName, readonly Part[]>,
): Goal {
  const [part] = parts.get(step) ?? [];
  const lines = part === undefined ? [] : summarize(part).filter((line) => line.phase === phase);
  const line = lines.find(({ name }) => name === figure);
  const generator = lines.find(({ name }) => name.startsWith(GENERATOR));
  const value = of === "ratio" ? line?.ratio : line?.targets[0]?.median;
  const { flags = [], args = [] } = steps.find(({ name }) => name === step) ?? {};
  return {
    ...floor,
    measured: value == null ? null : value * factor,
    interval: of === "ratio" ? (line?.interval ?? null) : null,
    generatorUs: generator?.targets[0]?.median ?? null,
    command: commandText([...flags, ...args]),
  };
}
