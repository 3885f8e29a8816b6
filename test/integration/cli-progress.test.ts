/** The progress of a run is shown while the run is followed and when it is inspected. */
import { join } from "node:path";
import t from "tap";
import { RunFollower } from "#cli/run/follow-run";
import { Terminal } from "#cli/terminal/terminal";
import { Millrace } from "#sdk/client/index";
import { millrace, serve } from "../support/command-line.ts";

/** A terminal; waits for a text on its screen. */
function screen() {
  let all = "";
  const wanted = new Set<{ text: string; resolve: () => void }>();
  const write = (text: string) => {
    all += text;
    for (const entry of wanted) if (all.includes(entry.text)) entry.resolve();
  };
  const shown = (text: string) => new Promise<void>((resolve) => wanted.add({ text, resolve }));
  return { terminal: new Terminal({ isTTY: true, columns: 120, write }, { NO_COLOR: "1" }), shown, text: () => all };
}

t.test("the percentage of progress() stands in the line of a run that is followed, and in runs show", async (t) => {
  const root = t.testdir({
    flows: { "climb.ts": 'import { flow } from "millrace";\nexport const climb = flow("climb", async () => {});\n' },
  });
  const home = join(root, "home");
  await serve(t, join(root, "flows"), home);
  const client = new Millrace({ home });
  const [flow] = await client.flows.list();
  const run = await client.flows.run(flow?.id ?? 0);
  const progress = (value: number, label: string) =>
    client.artifacts.create({ run_id: run.id, kind: "progress", data: { value, label } });
  await progress(40.7, "reading");
  await client.artifacts.create({ run_id: run.id, kind: "progress", key: "disk", data: { title: "Disk in use", value: 91 } });

  const { terminal, shown, text } = screen();
  const followed = new RunFollower(client, run.id, { log: null, progress: terminal }).untilEnd();
  await shown("40 %, reading");
  await progress(70, "drawing");
  await shown("70 %, drawing");
  t.notMatch(text(), "91 %", "what a flow shows of something else is not how far it is");
  t.match((await millrace("runs", "show", String(run.id), "--home", home)).out, /^Progress +70 %, drawing$/m);
  await client.runs.cancel(run.id);
  t.equal((await followed).state.type, "Cancelled");
});
