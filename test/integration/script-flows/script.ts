/** A user's script: executes the commands of its command line. */
import { emit, RunError, variable } from "millrace";
import { called, endless, family, sums, waits } from "./sums.ts";

const [what, argument] = process.argv.slice(2);

/** The outcome of a call, as one line for the test. */
async function told(call: Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify({ result: await call });
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    return JSON.stringify({ state: error.state, run: error.runId, cause: error.cause instanceof RangeError });
  }
}

if (what === "sums") console.log(await told(sums({ n: Number(argument) })));
if (what === "two") console.log(JSON.stringify(await Promise.all([sums({ n: 1 }), sums({ n: 2 })])));
if (what === "endless") console.log(await told(endless()));
if (what === "family") console.log(await told(family()));
if (what === "called") console.log(await told(called()));
if (what === "waits") console.log(await told(waits()));
if (what === "outside") {
  const before = await variable.get("script/last", "nothing");
  await variable.set("script/last", argument);
  await emit("script.done", { argument });
  console.log(JSON.stringify({ before }));
}
