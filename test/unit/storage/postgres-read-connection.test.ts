import { Duplex } from "node:stream";
import t from "tap";
import { CODE } from "#storage/postgres/protocol-message";
import { ReadConnection } from "#storage/postgres/read-connection";
import { BEGIN_HERE, SYNC, simpleQuery } from "#storage/postgres/read-messages";
import { decodeRows } from "#storage/postgres/rows";

const NOTICE = 78;
const PARSED = 49;

function message(code: number, ...content: (Buffer | string)[]): Buffer {
  const bytes = Buffer.concat(content.map((part) => Buffer.from(part)));
  const head = Buffer.alloc(5);
  head[0] = code;
  head.writeInt32BE(bytes.length + 4, 1);
  return Buffer.concat([head, bytes]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const described = (columns: Record<string, number>): Buffer =>
  message(
    CODE.rowDescription,
    int16(Object.keys(columns).length),
    ...Object.entries(columns).flatMap(([name, type]) => [`${name}\0`, Buffer.alloc(6), int32(type), Buffer.alloc(8)]),
  );

const row = (...values: (string | null)[]): Buffer =>
  message(
    CODE.dataRow,
    int16(values.length),
    ...values.flatMap((value) => (value === null ? [int32(-1)] : [int32(Buffer.byteLength(value)), value])),
  );

const done = message(CODE.commandComplete, "SELECT 1\0");
const ready = message(CODE.ready, "I");
const error = (severity: string, code: string, text: string): Buffer =>
  message(CODE.error, `S${severity}\0`, `V${severity}\0`, `C${code}\0`, `M${text}\0`, "\0");

/** A connection to a server that sends what the test says, in chunks of so many bytes. */
function setUp(chunkBytes = Number.POSITIVE_INFINITY) {
  const sent: Buffer[] = [];
  const stream = new Duplex({
    read: () => undefined,
    write: (bytes: Buffer, _, next) => {
      sent.push(bytes);
      next();
    },
  });
  const connection = new ReadConnection(stream);
  const send = (...messages: Buffer[]) => {
    const bytes = Buffer.concat(messages);
    for (let at = 0; at < bytes.length; at += chunkBytes) stream.push(bytes.subarray(at, at + chunkBytes));
  };
  return { connection, stream, sent, send };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const SELECT = simpleQuery("SELECT");
const ROWS = [row("7", "ä", null), row("-12", "", "t"), row("1e-7", "x".repeat(3_000), "f")];
const COLUMNS = { number: 20, text: 25, truth: 16 };
const EXPECTED = [
  [7, "ä", null],
  [-12, "", 1],
  [1e-7, "x".repeat(3_000), 0],
];

t.test("an answer is whole, whatever chunks it comes in", async (t) => {
  for (const chunkBytes of [1, 3, 7, 100, 5_000]) {
    const { connection, send } = setUp(chunkBytes);
    for (let time = 0; time < 2; time += 1) {
      const asked = connection.ask(SELECT, "ready");
      send(message(PARSED), described(COLUMNS), ...ROWS, message(NOTICE, "SNOTICE\0\0"), done, ready);
      const { bytes, columns, suspended } = await asked;
      t.same(
        columns?.map(({ name, type }) => [name, type]),
        Object.entries(COLUMNS),
      );
      t.same(decodeRows(bytes, columns ?? []), EXPECTED);
      t.equal(suspended, false);
    }
  }
});

t.test("an answer ends with the execution where nothing ends the transaction", async (t) => {
  const { connection, sent, send } = setUp();
  const first = connection.ask(SELECT, "executed");
  send(message(PARSED), ...ROWS.slice(0, 1), message(CODE.portalSuspended));
  const { bytes, suspended, columns } = await first;
  t.equal(suspended, true);
  t.equal(columns, null, "they were not asked for");
  const types = Object.entries(COLUMNS).map(([name, type]) => ({ name, type }));
  t.same(decodeRows(bytes, types), EXPECTED.slice(0, 1));
  connection.tell(BEGIN_HERE);
  t.equal(sent.length, 1, "not before the answer has been given");
  const second = connection.ask(SELECT, "ready");
  t.same(sent[1], Buffer.concat([BEGIN_HERE, SELECT]), "with the next request");
  send(message(PARSED), message(CODE.commandComplete, "BEGIN\0"), ready, ...ROWS.slice(1), done, ready);
  t.same(decodeRows((await second).bytes, types), EXPECTED.slice(1), "nothing of what nobody waits for");
  connection.tell(SYNC);
  await nextTurn();
  t.same(sent[2], SYNC, "without a request");
});

t.test("a failed statement is an error with the server's code, and the next answer is its own", async (t) => {
  const { connection, send } = setUp();
  const failed = connection.ask(SELECT, "executed");
  send(message(PARSED), error("ERROR", "42P01", "no such table"));
  await t.rejects(failed, { message: "no such table", code: "42P01", severity: "ERROR" });
  connection.tell(SYNC);
  const next = connection.ask(SELECT, "ready");
  send(ready, error("ERROR", "22012", "division by zero"), ready);
  await t.rejects(next, { code: "22012" });
  const good = connection.ask(SELECT, "ready");
  send(described({ n: 20 }), row("1"), done, ready);
  const { bytes, columns } = await good;
  t.same(decodeRows(bytes, columns ?? []), [[1]]);
});

t.test("a lost connection fails the request under way and all later ones, and says why", async (t) => {
  const told = setUp();
  const asked = told.connection.ask(SELECT, "ready");
  told.send(error("FATAL", "57P01", "terminating connection"));
  told.stream.push(null);
  told.stream.destroy();
  await t.rejects(asked, { code: "57P01", severity: "FATAL" });
  t.equal(told.connection.isOpen, false);

  const idle = setUp();
  idle.send(error("FATAL", "57P01", "shut down"));
  await nextTurn();
  idle.stream.destroy();
  await nextTurn();
  await t.rejects(idle.connection.ask(SELECT, "ready"), { fault: "unreachable", message: /is lost: shut down/ });

  const dropped = setUp();
  const under = dropped.connection.ask(SELECT, "ready");
  dropped.connection.drop();
  await t.rejects(under, { message: /is lost/ });

  const broken = setUp();
  const reset = broken.connection.ask(SELECT, "ready");
  broken.stream.destroy(new Error("ECONNRESET"));
  await t.rejects(reset, { fault: "unreachable", message: /ECONNRESET/ });
});

t.test("numbers and bytes are decoded from their texts", async (t) => {
  const values = ["0", "-1", "999999999999999", "1767225600000000", "-9007199254740991", "0.1", "-1.5e300", "NaN", "12."];
  const types = (count: number, type: number) => Array.from({ length: count }, () => ({ name: "n", type }));
  t.same(decodeRows(new Uint8Array(row(...values)), types(values.length, 701)), [values.map(Number)]);
  t.same(decodeRows(new Uint8Array(row("\\x00ff", "\\x")), types(2, 17)), [[new Uint8Array([0, 255]), new Uint8Array()]]);
  t.throws(() => decodeRows(new Uint8Array(row("00ff")), types(1, 17)), { message: /another form/ });
  t.throws(() => decodeRows(new Uint8Array(row("1", "2")), types(1, 20)), { message: /other columns/ });
});
