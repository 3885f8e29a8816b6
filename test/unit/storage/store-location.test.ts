/** How stores are named. */
import t from "tap";
import { isPostgresUrl, storeName } from "#storage/postgres/location";

t.test("a URL of PostgreSQL is none of a file", async (t) => {
  for (const url of ["postgres://h/d", "postgresql://u:p@h:5432/d"]) t.equal(isPostgresUrl(url), true, url);
  for (const path of ["/home/db.sqlite", ":memory:", "postgres", "./postgres:/x"]) t.equal(isPostgresUrl(path), false, path);
});

t.test("names hold no password", async (t) => {
  t.equal(storeName("postgres://u:se:c@ret@h:5432/d?ssl=1"), "postgres://u@h:5432/d?ssl=1");
  t.equal(storeName("postgres://u@/d?host=%2Ftmp&password=secret&port=1"), "postgres://u@/d?host=%2Ftmp&password=&port=1");
  t.equal(storeName("postgres://h/d"), "postgres://h/d");
  t.equal(storeName("/home/db.sqlite"), "/home/db.sqlite");
});
