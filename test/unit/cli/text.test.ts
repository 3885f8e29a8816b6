import t from "tap";
import { clockTime, counted, duration, levelLook, stateText } from "#cli/terminal/format";
import { renderLog } from "#cli/terminal/log-lines";
import { renderTable } from "#cli/terminal/table";
import { displayWidth, type Output, printable, Terminal, truncate } from "#cli/terminal/terminal";

function output(properties: Partial<Output> = {}): Output & { text: string } {
  return {
    ...properties,
    text: "",
    write(text: string) {
      this.text += text;
    },
  };
}

const pipe = new Terminal(output(), {});

t.test("a pipe gets neither colours nor cuts; a terminal has both, unless asked not to", async (t) => {
  t.equal(pipe.paint("red", "x"), "x");
  t.equal(pipe.columns, Number.POSITIVE_INFINITY);
  const terminal = new Terminal(output({ isTTY: true, columns: 40 }), {});
  t.equal(terminal.paint("red", "x"), "\u001b[31mx\u001b[39m");
  t.equal(terminal.columns, 40);
  t.equal(new Terminal(output({ isTTY: true }), { NO_COLOR: "1" }).paint("red", "x"), "x");
  t.equal(new Terminal(output({ isTTY: true }), { NO_COLOR: "" }).colours, true, "empty is not set");
  t.equal(new Terminal(output(), { FORCE_COLOR: "1" }).colours, true);
  t.equal(new Terminal(output({ isTTY: true }), { TERM: "dumb" }).live, false);
});

t.test("text of others cannot steer the terminal", async (t) => {
  t.equal(printable("\u001b[2Ja\u001b]0;title\u0007b"), "ab");
  t.equal(printable("a\rb\r\nc\td\u0000\u202ee"), "a\nb\nc    d\ufffd\ufffde");
});

t.test("widths count columns, not characters", async (t) => {
  t.equal(displayWidth("abc"), 3);
  t.equal(displayWidth("日本"), 4);
  t.equal(displayWidth("e\u0301"), 1);
  t.equal(displayWidth("\u001b[31mred\u001b[39m"), 3);
  t.equal(truncate("abcdef", 4), "abc\u2026");
  t.equal(truncate("日本語", 4), "日\u2026");
  t.equal(truncate("abc", 3), "abc");
});

t.test("durations have at most two units", async (t) => {
  const cases: [number, string][] = [
    [0, "0 µs"],
    [250, "250 µs"],
    [240_000, "240 ms"],
    [1_234_000, "1.23 s"],
    [12_340_000, "12.3 s"],
    [245_000_000, "4 m 05 s"],
    [7_620_000_000, "2 h 07 m"],
    [273_600_000_000, "3 d 4 h"],
  ];
  for (const [us, text] of cases) t.equal(duration(us), text);
  t.match(clockTime(1_767_225_600_123_456), /^\d\d:\d\d:00\.123$/);
  t.equal(counted(1, "run"), "1 run");
  t.equal(counted(1204, "process", "processes"), "1,204 processes");
});

t.test("states read by shape, levels by the nearest name below", async (t) => {
  t.equal(stateText({ type: "Completed", name: "Completed" }), "● Completed");
  t.equal(stateText({ type: "Completed", name: "Skipped" }), "» Skipped");
  t.equal(stateText({ type: "Failed", name: "TimedOut" }), "■ TimedOut");
  t.equal(levelLook(35).name, "WARNING");
  t.equal(levelLook(5).name, "DEBUG");
});

t.test("columns line up, figures on the right, and nothing trails", async (t) => {
  const rows = [
    { name: "a", count: 5, note: "" },
    { name: "longer", count: 1204, note: "two\nlines" },
  ];
  const columns = [
    { head: "NAME", cell: (row: (typeof rows)[0]) => row.name },
    { head: "COUNT", cell: (row: (typeof rows)[0]) => String(row.count), align: "right" as const },
    { head: "NOTE", cell: (row: (typeof rows)[0]) => row.note },
  ];
  t.same(renderTable(columns, rows, pipe), ["NAME    COUNT  NOTE", "a           5", "longer   1204  two lines"]);
  t.same(renderTable(columns, [], pipe), ["NAME  COUNT  NOTE"]);
});

t.test("on a narrow terminal only the columns that may give way are cut", async (t) => {
  const terminal = new Terminal(output({ isTTY: true, columns: 25 }), { NO_COLOR: "1" });
  const columns = [
    { head: "ID", cell: (row: string[]) => row[0] ?? "" },
    { head: "NAME", cell: (row: string[]) => row[1] ?? "", shrink: true },
    { head: "STATE", cell: (row: string[]) => row[2] ?? "" },
  ];
  const lines = renderTable(columns, [["123456", "a-very-long-name-indeed", "Running"]], terminal);
  t.same(lines, ["ID      NAME      STATE", "123456  a-very-\u2026  Running"]);
  t.ok(lines.every((line) => displayWidth(line) <= 25));
});

t.test("a log line names its task, and further lines stand under the message", async (t) => {
  const log = { id: 1, run_id: 1, task_run_id: 9, level: 40, logger: "x", message: "first\nsecond\n", timestamp: 0 };
  const lines = renderLog(log, new Map([[9, "clean-0"]]), pipe);
  t.match(lines[0], /^\d\d:\d\d:00\.000 {2}ERROR {5}clean-0 {2}first$/);
  t.equal(lines[1], `${" ".repeat(24)}second`);
  t.equal(lines.length, 2);
});
