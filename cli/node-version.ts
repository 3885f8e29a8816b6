/** Which Node the program needs; in a file that older ones can read. */

/** The first that runs flow files in TypeScript without a flag (22.18) and that the dependencies run on (undici: 22.19). */
export const NODE_MIN = [22, 19] as const;

/** Null, or in one line what is needed instead. */
export function nodeRefusal(version: string): string | null {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [neededMajor, neededMinor] = NODE_MIN;
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return null;
  return `needs Node ${neededMajor}.${neededMinor} or newer, this is ${version}`;
}
