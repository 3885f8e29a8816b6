/** The store of a simulation: real SQLite in memory that survives every crash, and that can be made to reject commits. */

import { IN_MEMORY } from "#storage/read/read-handle";
import type { Database } from "#storage/sqlite/driver";
import { StorageError } from "#storage/sqlite/storage-error";
import { openWriteHandle } from "#storage/write/write-handle";

/** "taken": commits succeed, but the files are no longer in their place. */
export type Refusal = "full" | "io" | "busy" | "taken";

export class SimulatedDisk {
  /** The checkers' connection. */
  readonly database: Database;
  /** The writer's connection. */
  readonly handle: Database;
  /** What is currently wrong, or null. */
  refusal: Refusal | null = null;

  constructor() {
    this.database = openWriteHandle(IN_MEMORY, { durability: "normal", salt: 1 });
    const exec = (sql: string): void => this.#exec(sql);
    this.handle = Object.create(this.database, { exec: { value: exec } }) as Database;
  }

  /** The process ended during a transaction. */
  rollBack(): void {
    if (this.database.inTransaction) this.database.exec("ROLLBACK");
  }

  /** The epoch of the process that owns the store. */
  get epoch(): number {
    return this.database.prepareRaw<[number]>("SELECT epoch FROM members").get()?.[0] ?? 0;
  }

  /** Another process opens the store for writing, and ends without a commit. */
  takeOver(): void {
    this.database.exec("UPDATE members SET epoch = epoch + 1");
  }

  close(): void {
    this.database.close();
  }

  #exec(sql: string): void {
    if (this.refusal === null || this.refusal === "taken") return void this.database.exec(sql);
    const fails = this.refusal === "busy" ? sql.startsWith("BEGIN") : sql === "COMMIT";
    if (fails) throw new StorageError(this.refusal, `simulated: ${this.refusal}`);
    this.database.exec(sql);
  }
}
