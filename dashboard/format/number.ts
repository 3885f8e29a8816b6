/** Numbers in one format everywhere: a comma at thousands. */

const COUNT = new Intl.NumberFormat("en-US");
const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB"];

/** "1,204". */
export function count(value: number): string {
  return COUNT.format(value);
}

/** "1 run", "1,204 runs". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** "1st", "2nd", "11th". */
export function ordinal(value: number): string {
  const tens = value % 100;
  const ending = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th");
  return `${count(value)}${ending}`;
}

/** "912 B", "48.2 kB", "1.3 GB": in steps of 1,000. */
export function bytes(value: number): string {
  let unit = 0;
  let size = value;
  while (size >= 1000 && unit < BYTE_UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/** Words in a list: "a", "a and b", "a, b and c". */
export function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}
