import t from "tap";
import { readMessage, rpcError, writeAnswer } from "#gateway/mcp/json-rpc";

t.test("a request has an id: text, a number or null", async (t) => {
  t.match(readMessage('{"jsonrpc":"2.0","id":1,"method":"ping"}'), { kind: "request", id: 1, method: "ping", params: {} });
  t.match(readMessage('{"jsonrpc":"2.0","id":null,"method":"ping"}'), { kind: "request", id: null, method: "ping" });
  t.match(readMessage('{"jsonrpc":"2.0","id":"a","method":"x","params":[1]}'), { kind: "request", id: "a", params: {} });
});

t.test("nothing is answered to a message without an id, or to an answer", async (t) => {
  for (const text of [
    '{"method":"notifications/initialized"}',
    "5",
    '"x"',
    "null",
    "{}",
    '{"id":1,"result":{}}',
    '{"id":1,"error":{}}',
  ])
    t.equal(readMessage(text).kind, "notification", text);
});

t.test("what cannot be understood is answered with an error", async (t) => {
  const answerTo = (text: string) => {
    const message = readMessage(text);
    return message.kind === "unreadable" ? JSON.parse(message.answer) : message;
  };
  t.match(answerTo("{"), { jsonrpc: "2.0", id: null, error: { code: -32700 } });
  t.match(answerTo("["), { error: { code: -32700 } });
  t.match(answerTo('[{"id":1,"method":"ping"}]'), { id: null, error: { code: -32600 } });
  t.match(answerTo("[]"), { id: null, error: { code: -32600 } });
  t.match(answerTo('{"jsonrpc":"2.0","id":4}'), { id: 4, error: { code: -32600, message: /method/ } });
  t.match(answerTo('{"jsonrpc":"2.0","id":4,"method":7}'), { id: 4, error: { code: -32600, message: /method/ } });
  t.match(answerTo("[".repeat(200)), { error: { code: -32700 } });
});

t.test("a request of another version of JSON-RPC, or with an id that is no id, is refused and not carried out", async (t) => {
  const refused = (text: string) => {
    const message = readMessage(text);
    return message.kind === "unreadable" ? JSON.parse(message.answer) : message.kind;
  };
  for (const version of ["", '"jsonrpc":"1.0",', '"jsonrpc":2,', '"jsonrpc":2.0,', '"jsonrpc":null,', '"jsonrpc":["2.0"],'])
    t.match(
      refused(`{${version}"id":4,"method":"ping"}`),
      { jsonrpc: "2.0", id: 4, error: { code: -32600, message: 'jsonrpc must be "2.0"' } },
      version,
    );
  for (const id of ["{}", '{"a":1}', "[]", "[1]", "true", "false"])
    t.match(
      refused(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`),
      { id: null, error: { code: -32600, message: /^id must be/ } },
      id,
    );
});

t.test("answers are one line with sorted keys, and give an id back as it came", async (t) => {
  const message = readMessage('{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}');
  t.equal(message.kind, "request");
  if (message.kind !== "request") return;
  t.equal(
    writeAnswer(message.id, { result: { b: 1, a: "x\ny" } }),
    '{"id":12345678901234567890,"jsonrpc":"2.0","result":{"a":"x\\ny","b":1}}',
  );
  t.equal(
    writeAnswer(null, rpcError("method_not_found", "no")),
    '{"error":{"code":-32601,"message":"no"},"id":null,"jsonrpc":"2.0"}',
  );
});
