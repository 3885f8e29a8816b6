/**
 * Markdown as elements, never as HTML: headings, paragraphs, lists, quotes, code, tables, rules, emphasis and links. Unknown
 * syntax stays text. Links lead to http and https only.
 */
import type { ComponentChildren, JSX } from "preact";

const FENCE = /^```/;
const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^\s*(?:[-*+]|\d+[.)])\s+(.*)$/;
const ORDERED = /^\s*\d+[.)]\s/;
const QUOTE = /^>\s?(.*)$/;
const RULE = /^\s*(?:-{3,}|\*{3,}|_{3,})\s*$/;
const TABLE_ROW = /^\s*\|(.*)\|\s*$/;
const TABLE_LINE = /^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/;

/** Code, strong, emphasised, link: the earliest match wins. */
const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\b_([^_]+)_\b|\[([^\]]+)\]\(([^\s)]+)\)/;

/** The address if it is http or https, else null. */
export function webAddress(text: string): string | null {
  try {
    const { protocol, href } = new URL(text);
    return protocol === "https:" || protocol === "http:" ? href : null;
  } catch {
    return null;
  }
}

/** A link out of the dashboard. */
export function OutLink({ href, children }: { href: string; children: ComponentChildren }): JSX.Element {
  const address = webAddress(href);
  if (address === null) return <span>{children}</span>;
  return (
    <a class="underlined" href={address} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

function inline(text: string): ComponentChildren {
  const match = INLINE.exec(text);
  if (match === null) return text;
  const [whole, code, strong, starred, scored, label, href] = match;
  const emphasised = starred ?? scored;
  return [
    text.slice(0, match.index),
    code !== undefined ? (
      <code class="mono">{code}</code>
    ) : strong !== undefined ? (
      <strong>{inline(strong)}</strong>
    ) : emphasised !== undefined ? (
      <em>{inline(emphasised)}</em>
    ) : (
      <OutLink href={href ?? ""}>{inline(label ?? "")}</OutLink>
    ),
    inline(text.slice(match.index + whole.length)),
  ];
}

/** Lines from `at` on while `take` returns a value. */
function run(lines: readonly string[], at: number, take: (line: string) => string | null): string[] {
  const taken: string[] = [];
  for (let index = at; index < lines.length; index += 1) {
    const text = take(lines[index] ?? "");
    if (text === null) break;
    taken.push(text);
  }
  return taken;
}

type Block = { element: JSX.Element; lines: number };

function cells(line: string): string[] {
  return (TABLE_ROW.exec(line)?.[1] ?? "").split("|").map((cell) => cell.trim());
}

function fenced(lines: readonly string[], at: number): Block {
  const code = run(lines, at + 1, (line) => (FENCE.test(line) ? null : line));
  return { element: <pre class="sunk">{code.join("\n")}</pre>, lines: code.length + 2 };
}

function table(lines: readonly string[], at: number): Block {
  const rows = run(lines, at + 2, (line) => (TABLE_ROW.test(line) ? line : null));
  const element = (
    <div class="scrolls">
      <table class="plain-table">
        <thead>
          <tr>
            {cells(lines[at] ?? "").map((cell) => (
              <th key={cell}>{inline(cell)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              {cells(row).map((cell) => (
                <td key={cell}>{inline(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
  return { element, lines: rows.length + 2 };
}

function list(lines: readonly string[], at: number): Block {
  const items = run(lines, at, (line) => ITEM.exec(line)?.[1] ?? null);
  const shown = items.map((item) => <li key={item}>{inline(item)}</li>);
  return { element: ORDERED.test(lines[at] ?? "") ? <ol>{shown}</ol> : <ul>{shown}</ul>, lines: items.length };
}

function block(lines: readonly string[], at: number): Block {
  const line = lines[at] ?? "";
  const heading = HEADING.exec(line);
  if (heading !== null) return { element: <h3>{inline(heading[2] ?? "")}</h3>, lines: 1 };
  if (FENCE.test(line)) return fenced(lines, at);
  if (RULE.test(line)) return { element: <hr />, lines: 1 };
  if (TABLE_ROW.test(line) && TABLE_LINE.test(lines[at + 1] ?? "")) return table(lines, at);
  if (ITEM.test(line)) return list(lines, at);
  const quoted = run(lines, at, (text) => QUOTE.exec(text)?.[1] ?? null);
  if (quoted.length > 0) return { element: <blockquote>{inline(quoted.join(" "))}</blockquote>, lines: quoted.length };
  const plain = (text: string) => text.trim() !== "" && !HEADING.test(text) && !FENCE.test(text) && !ITEM.test(text);
  const paragraph = run(lines, at, (text) => (plain(text) ? text : null));
  return { element: <p>{inline(paragraph.join(" "))}</p>, lines: Math.max(1, paragraph.length) };
}

export function Markdown({ text }: { text: string }): JSX.Element {
  const lines = text.split(/\r?\n/);
  const blocks: JSX.Element[] = [];
  for (let at = 0; at < lines.length; ) {
    if ((lines[at] ?? "").trim() === "") {
      at += 1;
      continue;
    }
    const { element, lines: taken } = block(lines, at);
    blocks.push(element);
    at += taken;
  }
  return <div class="markdown">{blocks}</div>;
}
