/** What the JavaScript heap of a thread holds. The memory of the process is more: code, stacks, and what SQLite allocates. */
import type { HeapInfo } from "node:v8";

export interface ThreadMemory {
  /** Memory of objects, garbage included. */
  heap_used_bytes: number;
  /** Memory that the heap has taken from the system. */
  heap_size_bytes: number;
  /** Beyond it the thread ends; V8 sets it by the memory of the machine, unless the thread was started with a limit. */
  heap_limit_bytes: number;
  /** Memory outside of the heap that its objects hold: bodies of requests and answers. */
  external_bytes: number;
}

export function memoryOf(heap: Pick<HeapInfo, "used_heap_size" | "total_heap_size" | "heap_size_limit" | "external_memory">) {
  return {
    heap_used_bytes: heap.used_heap_size,
    heap_size_bytes: heap.total_heap_size,
    heap_limit_bytes: heap.heap_size_limit,
    external_bytes: heap.external_memory,
  } satisfies ThreadMemory;
}

/** The memory of several threads together; all zero without threads. */
export function totalMemory(threads: readonly ThreadMemory[]): ThreadMemory {
  const sum = (field: keyof ThreadMemory): number => threads.reduce((total, thread) => total + thread[field], 0);
  return {
    heap_used_bytes: sum("heap_used_bytes"),
    heap_size_bytes: sum("heap_size_bytes"),
    heap_limit_bytes: sum("heap_limit_bytes"),
    external_bytes: sum("external_bytes"),
  };
}
