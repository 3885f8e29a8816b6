/** How a store is named: by the path of a SQLite file, or by the URL of a PostgreSQL database. */

/** Whether the name of a store is the URL of a PostgreSQL database. */
export function isPostgresUrl(store: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(store);
}

/** The store without the password, for people and logs. */
export function storeName(store: string): string {
  if (!isPostgresUrl(store)) return store;
  return store.replace(/^(\w+:\/\/[^:/@]*):.*@/, "$1@").replace(/([?&])password=[^&]*/g, "$1password=");
}
