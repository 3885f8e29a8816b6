/** A key file of a home, at any path. */
import type { SecretKeySource } from "#protocol/values/secret-key";

export function keyFile(path: string): SecretKeySource {
  return { name: path, text: null, path, inHome: true };
}
