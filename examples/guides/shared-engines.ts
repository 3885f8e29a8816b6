import { flow, run, Type } from "millrace";

const Day = Type.Object({ day: Type.String({ format: "date" }) });

/** Many runs at a time in one engine: each waits for the answer of another service. */
export const fetchDay = flow("fetch-day", { parameters: Day, maxConcurrent: 200 }, async ({ day }) => {
  const answer = await fetch(`http://127.0.0.1:8080/days/${day}`, { signal: run.signal });
  return await answer.json();
});

/** Alone in its engine, because it computes without `await` and would delay the runs beside it. */
export const primes = flow("primes", { exclusive: true, parameters: Type.Object({ below: Type.Integer() }) }, ({ below }) => {
  let found = 0;
  for (let n = 2; n < below; n += 1) {
    let divisor = 2;
    while (n % divisor !== 0) divisor += 1;
    if (divisor === n) found += 1;
  }
  return found;
});
