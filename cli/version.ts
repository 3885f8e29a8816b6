/** The package's own version, wherever it is installed. */
import { readFileSync } from "node:fs";

/** The file is above the source and above the build. */
const PACKAGE_FILE = new URL(import.meta.url.endsWith(".ts") ? "../package.json" : "../../package.json", import.meta.url);

export function packageVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE_FILE, "utf8")) as { version: string }).version;
}
