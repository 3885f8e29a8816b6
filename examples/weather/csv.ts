/** Reading of comma-separated text with a head line: one object per row, fields in double quotes may hold commas. */
export function parseCsv(text: string): Record<string, string>[] {
  const [head = "", ...lines] = text.trim().split(/\r?\n/);
  const names = splitLine(head);
  return lines.map((line) => {
    const fields = splitLine(line);
    return Object.fromEntries(names.map((name, index) => [name, fields[index] ?? ""]));
  });
}

function splitLine(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "",
  );
}
