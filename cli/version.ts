/** The package's own version, read from wherever it is installed. */
import { readFileSync } from "node:fs";

/** It is above the source as well as above the build. */
const PACKAGE_FILE = new URL(import.meta.url.endsWith(".ts") ? "../package.json" : "../../package.json", import.meta.url);

export function packageVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE_FILE, "utf8")) as { version: string }).version;
}
