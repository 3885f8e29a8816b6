import { EventEmitter, once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { Millrace, MillraceError, type StreamMessage } from "#sdk/client/index";

interface Connection {
  since: string | null;
  response: ServerResponse;
}

/** A server whose stream connections and run 7 the test controls. */
class FakeServer extends EventEmitter {
  url = "";
  run: Record<string, unknown> | null = { id: 7, state: { type: "Running", name: "Running", details: {} } };
  streamStatus = 200;
  /** False for a server that answers requests with wait_ms at once. */
  waits = true;
  readonly connections: Connection[] = [];

  async listen(test: Test): Promise<this> {
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? "", "http://localhost");
      if (url.pathname === "/api/stream" && this.streamStatus === 200) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const connection = { since: url.searchParams.get("since"), response };
        this.connections.push(connection);
        this.emit("connection", connection);
        return;
      }
      if (url.searchParams.has("wait_ms") && this.run !== null && this.waits) {
        this.emit("wait", response);
        return;
      }
      const status = url.pathname === "/api/stream" ? this.streamStatus : this.run === null ? 404 : 200;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(status === 200 ? this.run : { error: `status ${status}` }));
      this.emit("read");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    test.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    return this;
  }

  /** A request that waits for the run. */
  async waiting(): Promise<ServerResponse> {
    const [response] = await once(this, "wait");
    return response as ServerResponse;
  }

  async connected(): Promise<Connection> {
    const [connection] = await once(this, "connection");
    return connection as Connection;
  }
}

function send(connection: Connection, event: string, data: unknown, id?: number): void {
  connection.response.write(`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

async function next(stream: AsyncGenerator<StreamMessage>): Promise<StreamMessage> {
  const { value } = await stream.next();
  return value as StreamMessage;
}

t.test("a signal between two messages leaves nothing behind that keeps a script alive", async (t) => {
  const server = await new FakeServer().listen(t);
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  const end = new AbortController();
  const stream = new Millrace({ url: server.url }).stream({ signal: end.signal });
  const opened = server.connected();
  const hello = next(stream);
  send(await opened, "hello", { latest: 5 });
  t.match(await hello, { event: "hello" });
  end.abort();
  t.equal(timers(), before, "although no further message is requested");
});

t.test("a broken connection is taken up behind the last message", async (t) => {
  const server = await new FakeServer().listen(t);
  const stream = new Millrace({ url: server.url }).stream({ since: 3 });
  t.teardown(() => stream.return(undefined));
  const opened = server.connected();
  const hello = next(stream);
  const first = await opened;
  t.equal(first.since, "3");
  send(first, "hello", { latest: 5, since: 3 });
  send(first, "run.updated", { id: 7 }, 4);
  t.match(await hello, { event: "hello", seq: null });
  t.same(await next(stream), { event: "run.updated", seq: 4, data: { id: 7 } });
  const reopened = server.connected();
  const after = next(stream);
  first.response.destroy();
  const second = await reopened;
  t.equal(second.since, "4");
  send(second, "hello", { latest: 5, since: 4 });
  send(second, "run.updated", { id: 8 }, 5);
  t.match(await after, { event: "hello" });
  t.match(await next(stream), { seq: 5 });
});

t.test("without a number it starts from now, and keeps that place over a break", async (t) => {
  const server = await new FakeServer().listen(t);
  const stream = new Millrace({ url: server.url }).stream();
  t.teardown(() => stream.return(undefined));
  const opened = server.connected();
  const hello = next(stream);
  const first = await opened;
  t.equal(first.since, null);
  send(first, "hello", { latest: 12, since: 12 });
  await hello;
  const reopened = server.connected();
  const after = next(stream);
  first.response.end();
  const second = await reopened;
  t.equal(second.since, "12");
  send(second, "hello", { latest: 12, since: 12 });
  t.match(await after, { event: "hello" });
});

t.test("resync moves the place, and numbers that fell back are reported as one", async (t) => {
  const server = await new FakeServer().listen(t);
  const stream = new Millrace({ url: server.url }).stream({ since: 100 });
  t.teardown(() => stream.return(undefined));
  let opened = server.connected();
  let message = next(stream);
  let connection = await opened;
  send(connection, "hello", { latest: 9000, since: 100 });
  send(connection, "resync", { latest: 9000 }, 9000);
  t.match(await message, { event: "hello" });
  t.match(await next(stream), { event: "resync", data: { latest: 9000 } });
  opened = server.connected();
  message = next(stream);
  connection.response.destroy();
  connection = await opened;
  t.equal(connection.since, "9000");
  send(connection, "hello", { latest: 2, since: 9000 });
  t.match(await message, { event: "hello" });
  t.same(await next(stream), { event: "resync", seq: null, data: { latest: 2 } });
});

t.test("a refusal ends it with an error, a signal without one", async (t) => {
  const server = await new FakeServer().listen(t);
  server.streamStatus = 401;
  await t.rejects(new Millrace({ url: server.url }).stream().next(), { name: "MillraceError", status: 401 });
  server.streamStatus = 200;
  const stop = new AbortController();
  const stream = new Millrace({ url: server.url }).stream({ signal: stop.signal });
  const opened = server.connected();
  const message = stream.next();
  const connection = await opened;
  const closed = once(connection.response, "close");
  stop.abort();
  t.same(await message, { value: undefined, done: true });
  await closed;
});

t.test("a server that stays away is given up after the time asked for", async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const stream = new Millrace({ url: `http://127.0.0.1:${port}` }).stream({ retryForMs: 0 });
  await t.rejects(stream.next(), { name: "MillraceError", message: /no server answers/ });
});

t.test("leaving the loop closes the connection", async (t) => {
  const server = await new FakeServer().listen(t);
  const opened = server.connected();
  const loop = (async () => {
    for await (const message of new Millrace({ url: server.url }).stream()) if (message.event === "hello") break;
  })();
  const connection = await opened;
  const closed = once(connection.response, "close");
  send(connection, "hello", { latest: 1, since: 1 });
  await loop;
  await closed;
});

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

t.test("waitFor ends with the awaited run and its result, and opens no stream", async (t) => {
  const server = await new FakeServer().listen(t);
  const parked = server.waiting();
  const ended = new Millrace({ url: server.url }).waitFor<{ rows: number }>(7);
  answer(await parked, 200, { stream_seq: 3, id: 7, state: { type: "Completed", details: { result: { rows: 3 } } } });
  t.match(await ended, { run: { id: 7 }, result: { rows: 3 } });
  t.equal(server.connections.length, 0);
});

t.test("waitFor asks again when a wait is over, was cut or cannot be parked, and sees an end in between", async (t) => {
  const server = await new FakeServer().listen(t);
  let parked = server.waiting();
  const ended = new Millrace({ url: server.url }).waitFor(7);
  const first = await parked;
  parked = server.waiting();
  answer(first, 200, { ...server.run, stream_seq: 3 });
  const second = await parked;
  parked = server.waiting();
  second.destroy();
  const third = await parked;
  parked = server.waiting();
  answer(third, 503, { error: "busy" });
  const last = await parked;
  server.run = { id: 7, state: { type: "Failed", name: "Failed", details: { result: 1 } } };
  answer(last, 200, server.run);
  const { run, result } = await ended;
  t.equal(run.state.type, "Failed");
  t.equal(result, undefined, "only a completed run has a result");
  t.equal((await new Millrace({ url: server.url }).waitFor(7)).run.state.type, "Failed", "an ended run is answered at once");
});

t.test("waitFor polls a server that does not know wait_ms", async (t) => {
  const server = await new FakeServer().listen(t);
  server.waits = false;
  const ended = new Millrace({ url: server.url }).waitFor(7);
  for (let reads = 0; reads < 3; reads += 1) await once(server, "read");
  server.run = { id: 7, state: { type: "Completed", name: "Completed", details: {} } };
  t.equal((await ended).run.state.type, "Completed");
});

t.test("waitFor fails for a run that is unknown, deleted during the wait, or too slow", async (t) => {
  const server = await new FakeServer().listen(t);
  const client = new Millrace({ url: server.url });
  await t.rejects(client.waitFor(7, { timeoutMs: 1 }), { name: "MillraceError", message: "run 7 has not ended within 0.001 s" });
  // Another server, because the request of the aborted wait may still arrive at the first one.
  const second = await new FakeServer().listen(t);
  const parked = second.waiting();
  const deleted = new Millrace({ url: second.url }).waitFor(7);
  answer(await parked, 404, { error: "run 7 not found" });
  await t.rejects(deleted, { status: 404, message: "run 7 was deleted" });
  server.run = null;
  await t.rejects(client.waitFor(7), MillraceError);
  const stop = new AbortController();
  stop.abort();
  await t.rejects(client.waitFor(7, { signal: stop.signal }), { name: "AbortError" });
});
