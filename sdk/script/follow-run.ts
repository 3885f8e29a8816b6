import { pause } from "../client/http.ts";
import type { EndedRun, Millrace } from "../client/index.ts";
import { echoLine } from "./log-echo.ts";

const LOOK_AGAIN_MS = 300;

/**
 * Waits for the end of a run that an engine executes, and after a crash of the run that repeats it; prints log lines as they are
 * stored.
 */
export async function followRun(client: Millrace, id: number): Promise<EndedRun> {
  for (let followed = id; ; ) {
    const ended = await followOne(client, followed);
    const rerun = await client.runs.rerunOf(ended.run);
    if (rerun === null) return ended;
    followed = rerun.id;
  }
}

async function followOne(client: Millrace, id: number): Promise<EndedRun> {
  const ended = new AbortController();
  const waiting = client.waitFor(id).finally(() => ended.abort());
  // A failure is reported at the end, after the earlier lines.
  waiting.catch(() => undefined);
  let after = 0;
  const show = async (): Promise<void> => {
    for await (const line of client.runs.logs(id, { after })) {
      echoLine(line);
      after = line.id;
    }
  };
  while (!ended.signal.aborted) {
    await show().catch(() => undefined);
    await pause(LOOK_AGAIN_MS, ended.signal).catch(() => undefined);
  }
  // Engines send the last lines after the end.
  await pause(LOOK_AGAIN_MS);
  await show().catch(() => undefined);
  return await waiting;
}
