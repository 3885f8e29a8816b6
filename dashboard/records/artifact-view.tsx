/** An artifact in the view of its kind. Its data is from users: it is shown as text and never executed. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ArtifactRow } from "#protocol/records/artifact";
import { count } from "../format/number.ts";
import { fullTime } from "../format/time.ts";
import { Section } from "../parts/layout.tsx";
import { Markdown, OutLink, webAddress } from "./markdown.tsx";
import "./artifact.css";

/** Table rows that are drawn at first. */
const ROWS_FIRST = 50;

type Data = Readonly<Record<string, unknown>>;

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export const ARTIFACT_KIND_WORDS: Readonly<Record<ArtifactRow["kind"], string>> = {
  markdown: "Text",
  table: "Tables",
  progress: "Progress",
  link: "Links",
  image: "Pictures",
};

/** The name of an artifact: its title, the text of a link, its key, or its kind. */
export function titleOf({ data, key, kind }: Pick<ArtifactRow, "data" | "key" | "kind">): string {
  return (
    textOf(data["title"]) || textOf(data["text"]).split("\n", 1)[0]?.replace(/^#+ /, "") || key || textOf(data["label"]) || kind
  );
}

export function ArtifactView({ artifact }: { artifact: ArtifactRow }): JSX.Element {
  return (
    <Section title={titleOf(artifact)} note={`${artifact.kind}, ${fullTime(artifact.updated_at)}`}>
      <div class="artifact">
        <ArtifactData kind={artifact.kind} data={artifact.data as Data} />
      </div>
    </Section>
  );
}

/** The content of an artifact, without a heading. */
export function ArtifactData({ kind, data }: { kind: string; data: Data }): JSX.Element {
  switch (kind) {
    case "markdown":
      return <Markdown text={textOf(data["text"])} />;
    case "table":
      return <TableData data={data} />;
    case "progress":
      return <ProgressData data={data} />;
    case "link":
      return <LinkData data={data} />;
    case "image":
      return <ImageData data={data} />;
    default:
      return <pre class="sunk">{JSON.stringify(data, null, 2)}</pre>;
  }
}

function TableData({ data }: { data: Data }): JSX.Element {
  const [all, setAll] = useState(false);
  const rows = Array.isArray(data["rows"]) ? (data["rows"] as unknown[]) : [];
  const first = rows[0];
  const names = Array.isArray(data["columns"])
    ? data["columns"].map(textOf)
    : typeof first === "object" && first !== null && !Array.isArray(first)
      ? Object.keys(first)
      : [];
  const cellsOf = (row: unknown): unknown[] =>
    Array.isArray(row) ? row : names.map((name) => (row as Record<string, unknown> | null)?.[name]);
  const shown = all ? rows : rows.slice(0, ROWS_FIRST);
  return (
    <div class="scrolls">
      <table class="plain-table">
        {names.length > 0 && (
          <thead>
            <tr>
              {names.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {shown.map((row, index) => (
            <tr key={index}>
              {cellsOf(row).map((cell, at) => (
                <td key={at} class={typeof cell === "number" ? "num" : ""}>
                  {textOf(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < rows.length && (
        <button type="button" class="button small" onClick={() => setAll(true)}>
          Show all {count(rows.length)} rows
        </button>
      )}
    </div>
  );
}

function ProgressData({ data }: { data: Data }): JSX.Element {
  const value = Math.max(0, Math.min(100, Number(data["value"]) || 0));
  const label = textOf(data["label"]);
  return (
    <div class="row">
      <progress max={100} value={value} aria-label={label || "Progress"} />
      <b>{Math.round(value)} %</b>
      <span class="dim">{label}</span>
    </div>
  );
}

function LinkData({ data }: { data: Data }): JSX.Element {
  const url = textOf(data["url"]);
  return (
    <p>
      <OutLink href={url}>{textOf(data["text"]) || url}</OutLink>
      {webAddress(url) === null && <span class="faint"> This is no address of the web, so it is no link here.</span>}
    </p>
  );
}

function ImageData({ data }: { data: Data }): JSX.Element {
  const source = textOf(data["src"]);
  const [failed, setFailed] = useState(false);
  // Images execute nothing, not even SVG: scripts are disabled inside an <img>.
  const shown = source.startsWith("data:image/") || source.startsWith("https://");
  if (failed || !shown)
    return (
      <p class="dim">
        The picture is not shown here. <OutLink href={source}>{source.slice(0, 200)}</OutLink>
      </p>
    );
  return (
    <img
      src={source}
      alt={textOf(data["alt"]) || textOf(data["title"]) || "Picture that the run published"}
      onError={() => setFailed(true)}
    />
  );
}
