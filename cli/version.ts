/** The package's own version, read from wherever it is installed. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export function packageVersion(): string {
  const path = fileURLToPath(import.meta.resolve("millrace/package.json"));
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
