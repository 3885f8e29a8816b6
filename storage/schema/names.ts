/** Codes of event names, tags, resource kinds and sub-state names (table `names`); names are never removed. */
import type { Statements } from "../sqlite/statements.ts";
import { StorageError } from "../sqlite/storage-error.ts";

/** Names in memory. Users choose event names and tags, so there may be any number; evicting one only costs a look-up. */
export const NAMES_KEPT_MAX = 4_096;

const INSERT = "INSERT INTO names (id, name) VALUES (?, ?) ON CONFLICT (name) DO NOTHING";

export class Names {
  readonly #statements: Statements;
  readonly #codes = new Map<string, number>();
  #added: string[] = [];
  #highest: number;

  constructor(statements: Statements) {
    this.#statements = statements;
    this.#highest = statements.raw<[number | null]>("SELECT max(id) FROM names").get()?.[0] ?? 0;
  }

  /** Number of names in memory. */
  get kept(): number {
    return this.#codes.size;
  }

  /** The code of a name; a new name is stored in the running transaction. */
  code(name: string): number {
    const known = this.#codes.get(name);
    if (known !== undefined) return known;
    if (this.#codes.size >= NAMES_KEPT_MAX) this.#codes.clear();
    const id = this.#insert(name) ?? this.#find(name);
    this.#codes.set(name, id);
    return id;
  }

  /** The code given to a new name; null for a name that has a code. */
  #insert(name: string): number | null {
    const id = this.#highest + 1;
    if (this.#statements.raw(INSERT).run(id, name).changes === 0) return null;
    this.#highest = id;
    this.#added.push(name);
    return id;
  }

  #find(name: string): number {
    const row = this.#statements.raw<[number]>("SELECT id FROM names WHERE name = ?").get(name);
    if (row === undefined) throw new StorageError("operation", `the name ${name} is neither new nor stored`);
    return row[0];
  }

  committed(): void {
    if (this.#added.length > 0) this.#added = [];
  }

  rolledBack(): void {
    for (const name of this.#added) this.#codes.delete(name);
    this.#highest -= this.#added.length;
    this.#added = [];
  }
}
