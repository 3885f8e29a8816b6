import t from "tap";
import { clientName, Sessions } from "#gateway/mcp/sessions";
import { MCP_CLIENT_NAME_LENGTH_MAX, MCP_SESSION_IDLE_US, MCP_SESSIONS_MAX } from "#protocol/limits";

function create() {
  const clock = { us: 0 };
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `s${ids}`;
  };
  return { clock, sessions: new Sessions({ newId, now: () => clock.us }) };
}

t.test("a session knows its client until it is closed", async (t) => {
  const { sessions } = create();
  const id = sessions.open("editor");
  t.equal(sessions.clientOf(id), "editor");
  t.equal(sessions.close(id), true);
  t.equal(sessions.close(id), false);
  t.equal(sessions.clientOf(id), "unknown");
  t.equal(sessions.clientOf(""), "unknown");
});

t.test("an unused session is forgotten after an hour, a used one is kept", async (t) => {
  const { sessions, clock } = create();
  const [idle, used] = [sessions.open("idle"), sessions.open("used")];
  clock.us = MCP_SESSION_IDLE_US - 1;
  t.equal(sessions.clientOf(used), "used");
  clock.us = MCP_SESSION_IDLE_US;
  t.equal(sessions.clientOf(idle), "unknown");
  t.equal(sessions.clientOf(used), "used");
  t.equal(sessions.size, 1);
});

t.test("beyond the limit the session unused for longest makes room", async (t) => {
  const { sessions } = create();
  const first = sessions.open("first");
  const second = sessions.open("second");
  for (let index = 2; index < MCP_SESSIONS_MAX; index += 1) sessions.open("other");
  sessions.clientOf(first);
  sessions.open("one more");
  t.equal(sessions.size, MCP_SESSIONS_MAX);
  t.equal(sessions.clientOf(second), "unknown");
  t.equal(sessions.clientOf(first), "first");
});

t.test("the client's name is text of a bounded length, or unknown", async (t) => {
  t.equal(clientName({ clientInfo: { name: " editor " } }), "editor");
  t.equal(clientName({ clientInfo: { name: "x".repeat(1000) } }).length, MCP_CLIENT_NAME_LENGTH_MAX);
  for (const info of [undefined, null, "editor", {}, { name: "" }, { name: 5 }])
    t.equal(clientName({ clientInfo: info }), "unknown", JSON.stringify(info));
});
