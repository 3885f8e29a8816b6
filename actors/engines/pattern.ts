/** File patterns of the modules that a configured engine command is for: `*` stands for any text, `?` for one character. */
export function matchesPattern(pattern: string, module: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`).test(module);
}
