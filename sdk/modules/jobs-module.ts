/** Makes the jobs of millrace.toml a module like those with flows in code: its default export holds a flow for each job. */
import { registerHooks } from "node:module";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/** The file of settings in a served folder. */
export const JOBS_FILE = "millrace.toml";

const ENDING = `/${JOBS_FILE}`;

let offered = false;

export function isJobsFile(path: string): boolean {
  return basename(path) === JOBS_FILE;
}

/** Lets `import()` load such a file. */
export function offerJobs(): void {
  if (offered) return;
  offered = true;
  const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
  const jobs = JSON.stringify(new URL(`../jobs/job-flows${extension}`, import.meta.url).href);
  registerHooks({
    load(url, context, next) {
      if (!url.startsWith("file:") || !url.endsWith(ENDING)) return next(url, context);
      const path = JSON.stringify(fileURLToPath(url));
      const source = `import { jobFlows } from ${jobs};\nexport default jobFlows(${path});\n`;
      return { format: "module", source, shortCircuit: true };
    },
  });
}
