/** Clients that send too slowly or too much: the server libraries enforce the same limits. */
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { StubServer } from "../support/gateway-stub.ts";

async function setup(t: Test): Promise<StubServer> {
  const server = await new StubServer().start();
  t.teardown(() => server.stop());
  return server;
}

/** A connection on which the text was sent; the response is collected. */
function open(t: Test, server: StubServer, text: string): { socket: Socket; ended: Promise<string> } {
  const socket = connect(server.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  let received = "";
  socket.on("data", (piece) => {
    received += piece.toString("latin1");
  });
  // A server that closes while bytes are arriving resets the connection, which also counts as an end.
  socket.on("error", () => undefined);
  const ended = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  socket.write(text);
  return { socket, ended };
}

const HEAD = "POST /api/runs HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\n";

t.test("a head and a body that do not go on end their connection, and one that drips too", async (t) => {
  const server = await setup(t);
  const head = open(t, server, "GET /api/health HTTP/1.1\r\nHost: local");
  const body = open(t, server, `${HEAD}content-length: 100\r\n\r\n{`);
  const idle = open(t, server, "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const drip = open(t, server, `${HEAD}content-length: 100000\r\n\r\n`);
  const dripping = setInterval(() => drip.socket.write(" "), 1000);
  t.teardown(() => clearInterval(dripping));
  const [ofHead, ofBody, ofIdle, ofDrip] = await Promise.all([head.ended, body.ended, idle.ended, drip.ended]);
  for (const received of [ofHead, ofBody, ofDrip]) t.notMatch(received, /HTTP\/1\.1 2/);
  t.match(ofIdle, /^HTTP\/1\.1 200/, "its answer came, and then nothing more was asked");
  t.same(server.commands, []);
});

t.test("a head that is too large is refused", async (t) => {
  const server = await setup(t);
  const large = open(t, server, `GET /api/health HTTP/1.1\r\nHost: localhost\r\nx: ${"a".repeat(20_000)}\r\n\r\n`);
  t.match(await large.ended, /^HTTP\/1\.1 431/);
});

t.test("requests on one connection are answered in order; those that wait hear of its end", async (t) => {
  const server = await new StubServer({ decide: () => null }).start();
  t.teardown(() => server.stop());
  const get = "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const body = JSON.stringify({ engine_id: "e", pid: 1, source_dir: "/d", module: "m", wait_ms: 30_000 });
  const poll = `POST /api/engine/work HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const { socket } = open(t, server, get + poll);
  await server.until(() => server.commands.length === 1);
  socket.destroy();
  await server.until(() => server.notices.length === 1);
  t.match(server.notices[0], { kind: "Abandoned", command: server.commands[0]?.id });
});
