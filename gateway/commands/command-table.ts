/**
 * Commands by their ids, which grow.
 *
 * A Map would keep them alive after their removal: V8 makes a new table for a Map once its entries have been replaced, the former
 * table links the new one, and a former table that is in the old generation keeps all later tables, with their entries, until the
 * next full collection (docs/adr/0047-no-rewritten-maps-on-hot-paths.md).
 */

const CAPACITY_FIRST = 1024;

export class CommandTable<Command extends { readonly id: number }> {
  /** A command is at the position of its id modulo the capacity, a power of two. */
  #slots: (Command | undefined)[] = emptySlots(CAPACITY_FIRST);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The first id from `id` on that can be added. */
  freeId(id: number): number {
    if (this.#size * 2 >= this.#slots.length) this.#grow();
    let free = id;
    while (this.#slots[this.#at(free)] !== undefined) free += 1;
    return free;
  }

  /** Adds a command whose id is from `freeId`, or from another table that has the same commands. */
  add(command: Command): void {
    while (this.#slots[this.#at(command.id)] !== undefined) this.#grow();
    this.#slots[this.#at(command.id)] = command;
    this.#size += 1;
  }

  get(id: number): Command | undefined {
    const command = this.#slots[this.#at(id)];
    return command?.id === id ? command : undefined;
  }

  delete(id: number): void {
    if (this.get(id) === undefined) return;
    this.#slots[this.#at(id)] = undefined;
    this.#size -= 1;
  }

  clear(): void {
    this.#slots = emptySlots(CAPACITY_FIRST);
    this.#size = 0;
  }

  /** All commands by their ids, as they are now. */
  all(): Command[] {
    return this.#slots.filter((command) => command !== undefined).sort((a, b) => a.id - b.id);
  }

  #at(id: number): number {
    return id & (this.#slots.length - 1);
  }

  /** Commands that have different positions have different ones in twice the capacity. */
  #grow(): void {
    const former = this.#slots;
    this.#slots = emptySlots(former.length * 2);
    for (const command of former) if (command !== undefined) this.#slots[this.#at(command.id)] = command;
  }
}

function emptySlots<T>(capacity: number): (T | undefined)[] {
  return new Array<T | undefined>(capacity).fill(undefined);
}
