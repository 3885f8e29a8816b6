/** Levels of log lines: the filter, and the word of a line. */

export const LOG_LEVELS = [
  ["", "Every level"],
  ["INFO", "Info and up"],
  ["WARNING", "Warnings and up"],
  ["ERROR", "Errors"],
] as const;

export function levelWord(level: number): "DEBUG" | "INFO" | "WARN" | "ERROR" {
  return level >= 40 ? "ERROR" : level >= 30 ? "WARN" : level >= 20 ? "INFO" : "DEBUG";
}
