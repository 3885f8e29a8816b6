import { flow, run, Type } from "millrace";

const Day = Type.Object({ day: Type.String({ format: "date" }) });

/** Many runs at a time in one engine: each waits for the answer of another service. */
export const fetchDay = flow("fetch-day", { parameters: Day, maxConcurrent: 200 }, async ({ day }) => {
  const answer = await fetch(`http://127.0.0.1:8080/days/${day}`, { signal: run.signal });
  return await answer.json();
});

/** Alone in its engine, because it changes the working directory of the process. */
export const site = flow("site", { exclusive: true }, async () => {
  process.chdir("site");
});
