/** How long the server has been up; while it is away, up to the last message. */
import { tickingDuration } from "../format/duration.ts";
import { now } from "../format/now.ts";
import { lastNews, offline } from "../live/link.ts";

export function uptimeText(startedUs: number): string {
  return tickingDuration((offline.value ? lastNews.value : now.value) * 1000 - startedUs);
}
