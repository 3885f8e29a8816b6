/**
 * Requests as bytes, on both server libraries: ambiguous requests are refused and end the connection, and no later bytes are
 * taken for a request. Requests that uWebSockets.js cannot parse, it closes without an answer.
 */
import { connect } from "node:net";
import t, { type Test } from "tap";
import { StubServer } from "../support/gateway-stub.ts";

const BODY = JSON.stringify({ flow: "f", project: "p", module: "m", source_dir: "/d" });
const SIZE = BODY.length.toString(16);
const CHUNKED = `${SIZE}\r\n${BODY}\r\n0\r\n\r\n`;
/** Addressed to an actor, to detect that it was handled as a request; the number identifies the request before it. */
const behind = (index: number): string => `POST /api/runs/${index}/cancel HTTP/1.1\r\nHost: localhost\r\n\r\n`;

interface Case {
  text: string;
  /** Statuses in order; empty: closed without an answer. */
  uws: readonly number[];
  node: readonly number[];
  /** Libraries that keep the connection open after the answer. */
  stays?: readonly ("uws" | "node")[];
}

function create(headers: string, body: string): string {
  return `POST /api/runs HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\n${headers}\r\n${body}`;
}

function get(headers: string, line = "GET /api/health HTTP/1.1"): string {
  return `${line}\r\nHost: localhost\r\n${headers}\r\n`;
}

const both = (text: string, ...statuses: number[]): Case => ({ text, uws: statuses, node: statuses });
const silent = (text: string, ...node: number[]): Case => ({ text, uws: [], node });
const LENGTH = `content-length: ${BODY.length}\r\n`;

const CASES: Readonly<Record<string, Case>> = {
  "one length": { ...both(create(LENGTH, BODY), 201), stays: ["uws", "node"] },
  "lengths that differ": both(create(`${LENGTH}content-length: 3\r\n`, BODY), 400),
  "equal lengths": both(create(LENGTH + LENGTH, BODY), 400),
  "lengths that differ, of a GET": both(get("content-length: 0\r\ncontent-length: 5\r\n"), 400),
  "a list of lengths": both(create(`content-length: ${BODY.length}, ${BODY.length}\r\n`, BODY), 400),
  "a length with a sign": both(create(`content-length: +${BODY.length}\r\n`, BODY), 400),
  "a negative length": both(create("content-length: -1\r\n", BODY), 400),
  "a hexadecimal length": both(create("content-length: 0x10\r\n", BODY), 400),
  "an empty length": both(create("content-length: \r\n", BODY), 400),
  "an empty length before one": both(create(`content-length: \r\n${LENGTH}`, BODY), 400),
  "a length beyond all numbers": both(create("content-length: 99999999999999999999999\r\n", BODY), 400),
  "a space before the colon of the length": silent(create(`content-length : ${BODY.length}\r\n`, BODY), 400),
  chunks: { ...both(create("transfer-encoding: chunked\r\n", CHUNKED), 201), stays: ["node"] },
  "identity coding": both(create("transfer-encoding: identity\r\n", CHUNKED), 400),
  "a coding that ends like chunked": both(create("transfer-encoding: xchunked\r\n", CHUNKED), 400),
  "identity after chunked": both(create("transfer-encoding: chunked, identity\r\n", CHUNKED), 400),
  "chunked after gzip": both(create("transfer-encoding: gzip, chunked\r\n", CHUNKED), 400),
  "chunked twice": both(create("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n", CHUNKED), 400),
  "an empty coding": both(create("transfer-encoding: \r\n", CHUNKED), 400),
  "an empty coding and a length": both(create(`transfer-encoding: \r\n${LENGTH}`, BODY), 400),
  "chunks and a length": both(create(`transfer-encoding: chunked\r\n${LENGTH}`, CHUNKED), 400),
  "chunks of a GET": { ...both(get("transfer-encoding: chunked\r\n") + CHUNKED, 200), stays: ["node"] },
  "chunks of a HEAD": {
    ...both(get("transfer-encoding: chunked\r\n", "HEAD /api/health HTTP/1.1") + CHUNKED, 200),
    stays: ["node"],
  },
  "chunks and an answer without a body": {
    ...both(get("transfer-encoding: chunked\r\n", "OPTIONS /api/runs HTTP/1.1") + CHUNKED, 204),
    stays: ["node"],
  },
  "a coding that is none, of a GET": both(get("transfer-encoding: xchunked\r\n"), 400),
  // uWebSockets.js accepts these line ends; the connection ends with the answer, so that nothing can follow.
  "a chunk's line that ends without CR": {
    ...both(create("transfer-encoding: chunked\r\n", `${SIZE}\n${BODY}\r\n0\r\n\r\n`), 201),
    node: [400],
  },
  "a last line that ends without CR": {
    ...both(create("transfer-encoding: chunked\r\n", `${SIZE}\r\n${BODY}\r\n0\n\r\n`), 201),
    node: [400],
  },
  "a chunk without its end": {
    ...both(create("transfer-encoding: chunked\r\n", `${SIZE}\r\n${BODY}XX0\r\n\r\n`), 201),
    node: [400],
  },
  "a size that is no number": both(create("transfer-encoding: chunked\r\n", `zz\r\n${BODY}\r\n0\r\n\r\n`), 400),
  "chunks of HTTP/1.0": {
    text: `POST /api/runs HTTP/1.0\r\nHost: localhost\r\ntransfer-encoding: chunked\r\n\r\n${CHUNKED}`,
    uws: [505],
    node: [400],
  },
  "HTTP/1.0, which knows one request for each connection": { text: get("", "GET /api/health HTTP/1.0"), uws: [505], node: [200] },
  "HTTP/2.0": both(get("", "GET /api/health HTTP/2.0"), 505),
  "no version": silent(get("", "GET /api/health"), 505),
  "no Host, nor any other header": silent("GET /api/health HTTP/1.1\r\n\r\n", 400),
  "no Host": both("GET /api/health HTTP/1.1\r\naccept: */*\r\n\r\n", 400),
  "two Hosts": both(get("host: localhost\r\n"), 400),
  "a folded header": silent(get("x: a\r\n b\r\n"), 400),
  "NUL in a value": silent(get("x: a\0b\r\n"), 400),
  "NUL in a name": silent(get("x\0y: b\r\n"), 400),
  "a control character in a value": silent(get("x: a\x01b\r\n"), 400),
  "CR in a value": silent(get("x: a\rb\r\n"), 400),
  "LF in a value": silent(get("x: a\nb: c\r\n"), 400),
  "a line without a colon": silent(get("xyz\r\n"), 400),
  "lines that end without CR": { text: "GET /api/health HTTP/1.1\nHost: localhost\n\n", uws: [505], node: [400] },
  "NUL in the path": { text: get("", "GET /api/he\0alth HTTP/1.1"), uws: [505], node: [400] },
  "a whole URL as target": { text: get("", "GET http://localhost/api/health HTTP/1.1"), uws: [505], node: [400] },
  "OPTIONS of the server": { text: get("", "OPTIONS * HTTP/1.1"), uws: [505], node: [400] },
  CONNECT: { text: get("", "CONNECT localhost:80 HTTP/1.1"), uws: [505], node: [] },
  "the hello of TLS": { text: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", uws: [505], node: [400] },
  "the preface of HTTP/2": { text: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", uws: [505], node: [400] },
};

interface Outcome {
  statuses: number[];
  /** The server ended the connection. */
  ended: boolean;
}

/** The response bytes until the connection ends or, if it stays open, until the first answer. */
function send(t: Test, server: StubServer, text: string, stays: boolean): Promise<Outcome> {
  const socket = connect(server.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  let received = "";
  const statuses = (): number[] => [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  return new Promise((resolve) => {
    socket.on("data", (piece) => {
      received += piece.toString("latin1");
      if (stays && statuses().length > 0) resolve({ statuses: statuses(), ended: false });
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve({ statuses: statuses(), ended: true }));
    socket.write(Buffer.from(text, "latin1"));
  });
}

for (const transport of ["uws", "node"] as const) {
  t.test(`what can be read in two ways is refused and ends the connection: ${transport}`, async (t) => {
    const server = await new StubServer({ transport, decide: () => ({ status: 201, body: { id: 1 } }) }).start();
    t.teardown(() => server.stop());
    const tried = Object.entries(CASES).map(async ([name, { text, stays, ...expected }]) => {
      const { statuses, ended } = await send(t, server, text, stays?.includes(transport) === true);
      t.same(statuses, expected[transport], name);
      t.equal(ended, !stays?.includes(transport), `${name}: the connection`);
    });
    const followed = Object.entries(CASES).map(async ([name, { text, stays }], index) => {
      if (stays?.includes(transport)) return;
      const { ended } = await send(t, server, text + behind(index), false);
      t.ok(ended, `${name}: the connection, where more follows`);
    });
    await Promise.all([...tried, ...followed]);
    const taken = server.commands.filter(({ kind }) => kind === "CancelRun").map(({ target }) => Object.keys(CASES)[target]);
    t.same(taken, [], "what followed and was taken for a request");
    t.same(server.defects, []);
  });
}
