/** More connections than the process's files allow: further connections get 503, and served ones are unaffected. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { StubServer } from "../support/gateway-stub.ts";

const MAX = 5;
const GET = "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** A connection that sends nothing yet, and the head of its first answer. */
class Client {
  readonly socket: Socket;
  readonly answer: Promise<string>;

  constructor(t: Test, address: { port: number } | { path: string }) {
    this.socket = connect({ ...address, host: "127.0.0.1" });
    t.teardown(() => this.socket.destroy());
    this.socket.on("error", () => undefined);
    this.answer = new Promise((resolve) => {
      let received = "";
      this.socket.on("data", (piece) => {
        received += piece.toString();
        if (received.includes("\r\n\r\n")) resolve(received);
      });
      this.socket.on("close", () => resolve(received));
    });
  }

  ask(): Promise<string> {
    this.socket.write(GET);
    return this.answer;
  }
}

for (const transport of ["uws", "node"] as const) {
  t.test(`connections beyond the bound are answered 503 and closed: ${transport}`, async (t) => {
    const home = mkdtempSync(join(tmpdir(), "millrace-gateway-"));
    t.teardown(() => rmSync(home, { recursive: true }));
    const path = join(home, "s.sock");
    const server = await new StubServer({ transport, connections_max: MAX, socket: path }).start();
    t.teardown(() => server.stop());
    const { port } = server;
    const served = Array.from({ length: MAX }, () => new Client(t, { port }));
    for (const client of served) t.match(await client.ask(), /^HTTP\/1\.1 200/);
    for (let index = 0; index < MAX; index += 1) {
      const refused = new Client(t, { port });
      t.match(await refused.answer, /^HTTP\/1\.1 503.*\r\nretry-after: 1\r\n/s, "without having asked");
      if (!refused.socket.closed) await once(refused.socket, "close");
    }
    t.match(await new Client(t, { path }).ask(), /^HTTP\/1\.1 200/, "whoever looks after the server gets in by its socket");
    for (const { socket } of served) socket.destroy();
    let answer = "";
    while (!answer.startsWith("HTTP/1.1 200")) answer = await new Client(t, { port }).ask();
    t.same(server.defects, []);
  });
}
