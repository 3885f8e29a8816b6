/** Codes of event names, tags, resource kinds and sub-state names (table `names`); names are never removed. */
import type { Statements } from "../sqlite/statements.ts";

export class Names {
  readonly #statements: Statements;
  readonly #codes = new Map<string, number>();
  #added: string[] = [];
  #highest = 0;

  constructor(statements: Statements) {
    this.#statements = statements;
    for (const [id, name] of statements.raw<[number, string]>("SELECT id, name FROM names").all()) {
      this.#codes.set(name, id);
      this.#highest = Math.max(this.#highest, id);
    }
  }

  /** The code of a name; a new name is stored in the running transaction. */
  code(name: string): number {
    const known = this.#codes.get(name);
    if (known !== undefined) return known;
    const id = this.#highest + 1;
    this.#statements.raw("INSERT INTO names (id, name) VALUES (?, ?)").run(id, name);
    this.#highest = id;
    this.#codes.set(name, id);
    this.#added.push(name);
    return id;
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
