/** The log of a run: its end first, with level filter, search, wrapping and copying. Only the lines in the window are drawn. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Log } from "#protocol/records/log";
import type { Run } from "#protocol/records/run";
import { isTerminal } from "#protocol/records/state";
import { counted } from "../../../format/number.ts";
import { logTime } from "../../../format/time.ts";
import { useKeys } from "../../../input/keys.ts";
import { useTypedText } from "../../../input/typed-text.ts";
import { Key, Select } from "../../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../../parts/notice.tsx";
import { useVirtualRows } from "../../../parts/table/virtual-rows.ts";
import { showToast } from "../../../parts/toast.tsx";
import { LOG_LEVELS, levelWord } from "../../../records/log-level.ts";
import { param, stepParams, typeParams } from "../../../router/router.ts";
import { Glyph } from "../../../state/glyph.tsx";
import { readSetting, writeSetting } from "../../../state/settings.ts";
import { LogLines } from "./log-lines.ts";
import "./logs.css";

const LINE_HEIGHT = 20;
/** Within this distance of the end the log follows new lines. */
const END_PX = 40;
const TYPING_MS = 250;

/** `docked`: below other content, with less height. */
export function LogPanel({ run, docked = false }: { run: Run; docked?: boolean }): JSX.Element {
  const level = param("level");
  const search = param("find");
  const log = useMemo(() => new LogLines({ runId: run.id, level, search }), [run.id, level, search]);
  useEffect(() => () => log.end(), [log]);
  const wrap = useSignal(readSetting("log-wrap") !== "off");
  const scroller = useRef<HTMLDivElement>(null);
  const toError = useRef(() => {});
  const lines = log.lines.value;
  const toggleWrap = () => {
    wrap.value = !wrap.value;
    writeSetting("log-wrap", wrap.value ? null : "off");
  };
  const copy = async () => {
    await navigator.clipboard?.writeText(lines.map(lineText).join("\n"));
    showToast(`${counted(lines.length, "line")} copied.`);
  };
  useKeys([{ keys: "w", does: "wrap lines", run: toggleWrap }], { group: "Logs" });
  return (
    <div class={docked ? "log-docked" : ""}>
      <div class="log-bar">
        <Search />
        <Select label="Level" options={LOG_LEVELS} chosen={level} choose={(chosen) => stepParams({ level: chosen })} />
        <button type="button" class="button quiet" aria-pressed={wrap.value} onClick={toggleWrap}>
          {wrap.value ? "Wrapped" : "Unwrapped"} <Key name="w" />
        </button>
        <button type="button" class="button quiet" disabled={lines.length === 0} onClick={() => toError.current()}>
          First error <Key name="e" />
        </button>
        <button type="button" class="button quiet" onClick={copy}>
          Copy
        </button>
        <span class="meta faint push">
          {log.left.value > 0 && `the last `}
          {counted(lines.length, "line")}
          {log.complete.value ? (isTerminal(run.state.type) ? ", ended" : ", goes on") : ", reading"}
        </span>
      </div>
      {log.error.value !== null && <Failure what="The log" error={log.error.value} again={() => log.read()} />}
      {lines.length === 0 && !log.complete.value && <Loading rows={8} />}
      {lines.length === 0 && log.complete.value && <NoLines filtered={level !== "" || search !== ""} />}
      {lines.length > 0 && (
        <Lines key={String(wrap.value)} lines={lines} wrap={wrap.value} search={search} scroller={scroller} toError={toError} />
      )}
    </div>
  );
}

function NoLines({ filtered }: { filtered: boolean }): JSX.Element {
  if (!filtered)
    return <Empty title="Nothing was written">What the flow and its tasks log, and what they print, stands here.</Empty>;
  return (
    <Empty title="No line matches">
      <button type="button" class="button small" onClick={() => stepParams({ level: null, find: null })}>
        Every line
      </button>
    </Empty>
  );
}

function lineText({ timestamp, level, logger, message }: Log): string {
  return `${logTime(timestamp)} ${levelWord(level).padEnd(5)} ${logger}  ${message}`;
}

function Search(): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const [text, type] = useTypedText({
    filter: () => param("find"),
    apply: (find) => typeParams({ find }),
    waitMs: TYPING_MS,
  });
  useKeys([{ keys: "/", does: "search the log", run: () => field.current?.focus() }], { group: "Logs" });
  return (
    <label class="field search">
      <Glyph name="search" />
      <span class="sr">Search the log</span>
      <input
        ref={field}
        type="text"
        placeholder="Part of a line"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && field.current?.blur()}
      />
      <Key name="/" />
    </label>
  );
}

interface LinesProps {
  lines: readonly Log[];
  wrap: boolean;
  search: string;
  scroller: { current: HTMLDivElement | null };
  /** Receives a function that jumps to the first error. */
  toError: { current: () => void };
}

function Lines({ lines, wrap, search, scroller, toError }: LinesProps): JSX.Element {
  const list = useRef<HTMLOListElement>(null);
  const virtual = useVirtualRows({ count: lines.length, height: LINE_HEIGHT, scroller, list });
  const follows = useRef(true);
  const formerTop = useRef(0);
  useEffect(() => {
    if (follows.current) virtual.scrollTo(lines.length - 1, "end");
  }, [lines.length]);
  const jump = (index: number, follow: boolean) => {
    follows.current = follow;
    virtual.scrollTo(index, follow ? "end" : "center");
  };
  const firstError = () => {
    const index = lines.findIndex(({ level }) => level >= 40);
    if (index === -1) showToast("No error is in these lines.");
    else jump(index, false);
  };
  toError.current = firstError;
  useKeys(
    [
      { keys: "G", does: "end of the log", run: () => jump(lines.length - 1, true) },
      { keys: "e", does: "first error", run: firstError },
    ],
    { group: "Logs" },
  );
  const scrolled = () => {
    const box = scroller.current;
    if (box === null) return;
    // New lines may have arrived after the scroll to the end: only scrolling up stops following.
    if (box.scrollHeight - box.scrollTop - box.clientHeight < END_PX) follows.current = true;
    else if (box.scrollTop < formerTop.current) follows.current = false;
    formerTop.current = box.scrollTop;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard
    <div class={`log ${wrap ? "wrap" : ""}`} ref={scroller} onScroll={scrolled} tabIndex={0} role="region" aria-label="Lines">
      <ol ref={list} style={{ paddingTop: `${virtual.before}px`, paddingBottom: `${virtual.after}px` }}>
        {virtual.items.map(({ index }) => {
          const line = lines[index];
          return line === undefined ? null : <Line key={line.id} {...{ line, index, search }} measure={virtual.measure} />;
        })}
      </ol>
    </div>
  );
}

function Line({
  line,
  index,
  search,
  measure,
}: {
  line: Log;
  index: number;
  search: string;
  measure: (element: Element | null) => void;
}) {
  const word = levelWord(line.level);
  return (
    <li class={`line ${word.toLowerCase()}`} data-index={index} ref={measure}>
      <span class="edge" />
      <time class="when">{logTime(line.timestamp)}</time>
      <span class="level">{word}</span>
      <span class="text">
        <span class="logger">{line.logger}</span>
        {"  "}
        <Marked text={line.message} search={search} />
      </span>
    </li>
  );
}

/** The text with the search matches marked. */
function Marked({ text, search }: { text: string; search: string }): JSX.Element {
  if (search === "") return <>{text}</>;
  const parts: (string | JSX.Element)[] = [];
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + wanted.length)}</mark>);
    from = at + wanted.length;
  }
  return (
    <>
      {parts}
      {text.slice(from)}
    </>
  );
}
