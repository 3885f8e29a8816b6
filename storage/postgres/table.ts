/** Rows with the names of their columns. */
export interface Table {
  columns: string[];
  rows: unknown[][];
}
