/** Matches a module against the file pattern of a configured engine command: `*` stands for any text, `?` for one character. */
export function matchesPattern(pattern: string, module: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`).test(module);
}
