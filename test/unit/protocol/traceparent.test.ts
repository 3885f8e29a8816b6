/** The header of W3C Trace Context; the examples are those of the standard. */
import t from "tap";
import { readTraceparent, traceparentOf } from "#protocol/values/traceparent";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

t.test("valid headers", async (t) => {
  for (const flags of ["00", "01", "02", "03", "ff"]) {
    const sampled = (Number.parseInt(flags, 16) & 1) === 1;
    t.same(readTraceparent(`00-${TRACE}-${SPAN}-${flags}`), { traceId: TRACE, spanId: SPAN, sampled }, flags);
  }
  t.same(readTraceparent(`cc-${TRACE}-${SPAN}-01-what-the-future-brings`)?.sampled, true, "a later version begins like this one");
  for (const sampled of [true, false]) {
    const parent = { traceId: TRACE, spanId: SPAN, sampled };
    t.same(readTraceparent(traceparentOf(parent)), parent);
  }
});

t.test("headers that are not valid are ignored", async (t) => {
  const wrong = [
    "",
    TRACE,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-01 `,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `0-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-011`,
    `00-${TRACE}-${SPAN}-01\n`,
  ];
  for (const text of wrong) t.equal(readTraceparent(text), null, JSON.stringify(text));
});
