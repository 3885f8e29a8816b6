/** Following a run by the messages of a server that arrive in an inconvenient order. */
import t from "tap";
import { RunFollower } from "#cli/run/follow-run";
import { Terminal } from "#cli/terminal/terminal";
import type { Millrace } from "#sdk/client/index";

const TASK = { id: 7, dynamic_key: "clean-0", state: { type: "Running" }, end_time: null };
const LINE = { id: 1, run_id: 1, task_run_id: TASK.id, level: 20, logger: "x", timestamp: 0, message: "20 rows" };
const RUN = { id: 1, created_at: 0, start_time: 0, state: { type: "Running", name: "Running", message: null } };
const ENDED = { ...RUN, state: { ...RUN.state, type: "Completed", name: "Completed" } };

/** A client whose stream says that there are log lines, and never names their task. */
function clientWith(tasksAsked: number[]): Millrace {
  const client = {
    async *stream() {
      yield { event: "hello", data: {} };
      yield { event: "log.appended", data: { run_id: 1 } };
      yield { event: "run.updated", data: ENDED };
    },
    waitFor: async () => ({ run: ENDED }),
    runs: {
      tasks: async () => [],
      get: async () => RUN,
      logs: (_run: number, { after }: { after: number }) => ({
        async *pages() {
          if (after < LINE.id) yield [LINE];
        },
      }),
    },
    taskRuns: {
      get: async (id: number) => {
        tasksAsked.push(id);
        return TASK;
      },
    },
  };
  return client as unknown as Millrace;
}

t.test("a log line has the name of its task, also when the line arrives before the task", async (t) => {
  let text = "";
  const write = (piece: string) => {
    text += piece;
  };
  const log = new Terminal({ write }, {});
  const asked: number[] = [];
  await new RunFollower(clientWith(asked), 1, { log, progress: null }).untilEnd();
  t.match(text, /INFO +clean-0 {2}20 rows\n/);
  t.same(asked, [TASK.id], "asked for once");
});
