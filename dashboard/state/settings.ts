/** The user's choices, kept in this browser. A browser without storage uses the defaults each time. */

const PREFIX = "millrace.";

export function readSetting(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Stores a value; null removes it. */
export function writeSetting(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Storage is full or forbidden: the choice lasts until the page is left.
  }
}
