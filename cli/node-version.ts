/** The required Node version, in a file that older versions can parse. */

/**
 * The first version that runs flow files in TypeScript without a flag (22.18) and that the dependencies support (undici:
 * 22.19).
 */
export const NODE_MIN = [22, 19] as const;

/** Null, or the required version in one line. */
export function nodeRefusal(version: string): string | null {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [neededMajor, neededMinor] = NODE_MIN;
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return null;
  return `needs Node ${neededMajor}.${neededMinor} or newer, this is ${version}`;
}
