/** The key of the home, as actors use it. */
export interface Secrets {
  readonly present: boolean;
  seal(text: string): string;
  /** Null when the key is missing or a different one. */
  open(sealed: string): string | null;
  /** A text of 256 bits that only the key can make again; null when the key file holds no key. */
  sign(text: string): string | null;
}
