/** Where the key of secret variables is: in the environment, or in a file. The server and the code of flows look in the same places. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseKey, SECRET_KEY_FILE } from "./sealed-text.ts";

/** The key itself, 32 bytes as base64. */
export const SECRET_KEY_VARIABLE = "MILLRACE_SECRET_KEY";
/** The path of a file with the key. */
export const SECRET_KEY_FILE_VARIABLE = "MILLRACE_SECRET_KEY_FILE";

export interface SecretKeySource {
  /** How messages name the place. */
  name: string;
  /** The text of the key; null where it is in a file. */
  text: string | null;
  /** The file with the key. Only the one in the home is created when it is missing. */
  path: string;
  inHome: boolean;
}

/** The first of: the key in the environment, the file that the environment names, the file in the home. */
export function secretKeySource(home: string, env: Readonly<Record<string, string | undefined>>): SecretKeySource {
  const path = env[SECRET_KEY_FILE_VARIABLE] || join(home, SECRET_KEY_FILE);
  const text = env[SECRET_KEY_VARIABLE] || null;
  const inHome = text === null && !env[SECRET_KEY_FILE_VARIABLE];
  return { name: text === null ? path : SECRET_KEY_VARIABLE, text, path, inHome };
}

/** The key, or null where there is none or the text is no key. */
export function readSecretKey({ text, path }: SecretKeySource): Buffer | null {
  try {
    return parseKey(text ?? readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}
