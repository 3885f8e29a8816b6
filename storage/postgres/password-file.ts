/** The file from which PostgreSQL's own clients take passwords: ~/.pgpass, or where PGPASSFILE says. */
import type { Place } from "./errors.ts";

/** Undefined where the file has none for this connection. A file that others may read is not used; the package says so. */
export async function passwordFromFile(place: Place): Promise<string | undefined> {
  const { default: find } = await import("pgpass");
  return await new Promise((resolve) => find(place, resolve));
}
