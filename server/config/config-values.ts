/** Checks of single configuration values. Each error names the place and the expected value. */

import { isIP } from "node:net";
import { TRANSPORTS } from "#gateway/transport/transport";
import { isPostgresUrl } from "#storage/postgres/location";

/** The configuration is not usable. The message is one complete line; the command line exits with 3. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

export const PORT_MAX = 65_535;

export const CATCHUP_POLICIES = ["skip", "latest", "all"] as const;
export type Catchup = (typeof CATCHUP_POLICIES)[number];

/** Number of threads besides main. */
const THREADS = ["two", "three"] as const;
export const DURABILITIES = ["normal", "full"] as const;
export type Durability = (typeof DURABILITIES)[number];

/** `where` in all functions: the place as shown to the user, for example `millrace.toml: [server] port`. */
export type Check<T> = (where: string, value: unknown) => T;

/** The JSON Schema of the values that a check accepts, for editors. */
const SCHEMAS = new WeakMap<Check<never>, object>();

export function schemaOf(check: Check<unknown>): object {
  return SCHEMAS.get(check as Check<never>) ?? {};
}

function accepting<T>(schema: object, check: Check<T>): Check<T> {
  SCHEMAS.set(check as Check<never>, schema);
  return check;
}

function refuse(where: string, expected: string, value: unknown): never {
  throw new ConfigError(`${where} must be ${expected}, not ${shown(value)}`);
}

/** A value as written in the file, truncated if long. */
function shown(value: unknown): string {
  if (value instanceof Date) return `the date ${value.toISOString()}`;
  const written = typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? String(value));
  return written.length > 60 ? `${written.slice(0, 57)}...` : written;
}

/** A whole number from min to max. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Check<number> {
  return accepting(
    { type: "integer", minimum: min, ...(max === Number.MAX_SAFE_INTEGER ? {} : { maximum: max }) },
    (where, value) =>
      typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max
        ? value
        : refuse(where, `a whole number ${range(min, max)}`, value),
  );
}

/** A number of zero or more, whole or not. */
export const amount: Check<number> = accepting({ type: "number", minimum: 0 }, (where, value) =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : refuse(where, "a number of zero or more", value),
);

/** A number from 0 to 1. */
export const share: Check<number> = accepting({ type: "number", minimum: 0, maximum: 1 }, (where, value) =>
  typeof value === "number" && value >= 0 && value <= 1 ? value : refuse(where, "a number from 0 to 1", value),
);

/** An address of HTTP; empty text counts as not set. */
export const httpUrl: Check<string | undefined> = accepting({ type: "string" }, (where, value) => {
  if (value === "") return undefined;
  const protocol = typeof value === "string" ? URL.parse(value)?.protocol : undefined;
  return protocol === "http:" || protocol === "https:"
    ? String(value)
    : refuse(where, "an address such as http://127.0.0.1:4318", value);
});

/** Stands for a host that is not named: the folder of a Unix socket is the parameter `host`, and URLs without a host have no user. */
const NO_HOST = "none";

/**
 * The URL of a PostgreSQL database. A refusal does not repeat the URL, because it may have a password. A path with `@` is the rest of
 * a password with `/`: the part before that would be taken for the host, and shown.
 */
export const databaseUrl: Check<string> = accepting({ type: "string", pattern: "^postgres(ql)?://" }, (where, value) => {
  const url = typeof value === "string" ? URL.parse(value.replace("@/", `@${NO_HOST}/`)) : null;
  const hasHost = url !== null && (!["", NO_HOST].includes(url.hostname) || url.searchParams.has("host"));
  if (typeof value === "string" && isPostgresUrl(value) && hasHost && /^\/[^@]+$/.test(url.pathname)) return value;
  const form = "postgres://user:password@host:5432/database, with @ as %40, / as %2F, ? as %3F and # as %23 in the password";
  throw new ConfigError(`${where} must be the URL of a PostgreSQL database: ${form}`);
});

export const flag: Check<boolean> = accepting({ type: "boolean" }, (where, value) =>
  typeof value === "boolean" ? value : refuse(where, "true or false", value),
);

/** Text that is not empty. */
export const textValue: Check<string> = accepting({ type: "string", minLength: 1 }, (where, value) =>
  typeof value === "string" && value !== "" ? value : refuse(where, "a text that is not empty", value),
);

/** Text; empty text counts as not set. */
export const optionalText: Check<string | undefined> = accepting({ type: "string" }, (where, value) =>
  typeof value !== "string" ? refuse(where, "a text", value) : value === "" ? undefined : value,
);

export const textList: Check<string[]> = accepting({ type: "array", items: { type: "string", minLength: 1 } }, (where, value) =>
  Array.isArray(value) && value.every((item) => typeof item === "string" && item !== "")
    ? value
    : refuse(where, "a list of texts", value),
);

/** Networks in CIDR notation. */
export const networkList: Check<string[]> = accepting({ type: "array", items: { type: "string" } }, (where, value) =>
  Array.isArray(value) && value.every(isNetwork)
    ? value
    : refuse(where, 'a list of networks such as "192.168.0.0/16" or "fd12:3456::/48"', value),
);

function isNetwork(value: unknown): value is string {
  if (typeof value !== "string") return false;
  const [address = "", prefix = "", ...rest] = value.split("/");
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
}

function oneOf<T extends string>(choices: readonly T[]): Check<T> {
  return accepting(
    { enum: [...choices] },
    (where, value) => choices.find((choice) => choice === value) ?? refuse(where, quoted(choices), value),
  );
}

export const catchupOf = oneOf(CATCHUP_POLICIES);
export const threadsOf = oneOf(THREADS);
export const durabilityOf = oneOf(DURABILITIES);
export const transportOf = oneOf(TRANSPORTS);

/** One number of seconds, or the shortest and the longest. */
export const secondsRange: Check<[number, number]> = accepting(
  {
    anyOf: [
      { type: "number", minimum: 0 },
      { type: "array", items: { type: "number", minimum: 0 }, minItems: 2, maxItems: 2 },
    ],
  },
  (where, value) => {
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return [value, value];
    if (Array.isArray(value) && value.length === 2) {
      const [shortest, longest]: unknown[] = value;
      if (typeof shortest === "number" && typeof longest === "number" && shortest >= 0 && shortest <= longest) {
        return [shortest, longest];
      }
    }
    return refuse(where, "a number of seconds, or [shortest, longest]", value);
  },
);

/** Program and arguments: a list, or one text that is split at blanks outside quotes. */
export const commandWords: Check<string[]> = accepting(
  {
    anyOf: [
      { type: "string", minLength: 1 },
      { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 },
    ],
  },
  (where, value) => {
    const words = typeof value === "string" ? splitWords(where, value) : textList(where, value);
    return words.length > 0 ? words : refuse(where, "a command: a text or a list of texts", value);
  },
);

function splitWords(where: string, line: string): string[] {
  const words = line.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? [];
  if (/["']/.test(line.replace(/"[^"]*"|'[^']*'/g, ""))) refuse(where, "a command with closed quotes", line);
  return words.map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
}

/** A whole number written as text, as in flags and environment variables. */
export function integerText(where: string, text: string, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
  const value = /^-?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  return integer(min, max)(where, Number.isNaN(value) ? text : value);
}

function range(min: number, max: number): string {
  return max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
}

function quoted(choices: readonly string[]): string {
  const named = choices.map((choice) => `"${choice}"`);
  return named.length === 2 ? named.join(" or ") : `${named.slice(0, -1).join(", ")} or ${named.at(-1)}`;
}
