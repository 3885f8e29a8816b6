/** The texts of queries make lists of ids themselves (storage/postgres/dialect.ts). */
export const name = "id lists";

export const sql = "DROP FUNCTION id_list(text)";
