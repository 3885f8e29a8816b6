/** The palette (mod+k): finds pages, flows and runs by a few letters. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FlowSummary } from "#protocol/records/flow";
import type { RunsPage } from "#protocol/records/run";
import { pagePath } from "#protocol/routes/dashboard-pages";
import { ask, withQuery } from "../api/client.ts";
import { useQuery } from "../api/query.ts";
import { roughDuration } from "../format/duration.ts";
import { nowUs } from "../format/now.ts";
import { PAGES, RAIL } from "../pages/pages.ts";
import { Dialog } from "../parts/dialog.tsx";
import { navigate } from "../router/router.ts";
import { Glyph } from "../state/glyph.tsx";
import { lookOf } from "../state/look.ts";
import { savedViews } from "../state/saved-views.ts";
import { StateGlyph } from "../state/state-mark.tsx";
import { switchTheme } from "../state/theme.ts";

export const paletteOpen = signal(false);

export function openPalette(): void {
  paletteOpen.value = true;
}

interface Choice {
  id: string;
  group: string;
  text: string;
  mark?: JSX.Element;
  note?: string;
  run: () => void;
}

const RUNS_FOUND = 6;
const FLOWS_FOUND = 6;
const TYPING_MS = 120;

export function Palette(): JSX.Element {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const flows = useQuery<FlowSummary[]>("/api/flows").data;
  const runs = useFoundRuns(text);
  const choices = useMemo(() => choicesFor(text, flows ?? [], runs), [text, flows, runs]);
  const list = useRef<HTMLDivElement>(null);
  const close = () => {
    paletteOpen.value = false;
  };
  const take = (choice: Choice | undefined) => {
    if (choice === undefined) return;
    close();
    choice.run();
  };
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setAt((at + step + choices.length) % Math.max(1, choices.length));
    } else if (event.key === "Enter") take(choices[at]);
  };
  useEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [at]);
  return (
    <Dialog label="Search or jump to" close={close} look="palette">
      <div class="palette-search">
        <Glyph name="search" />
        <input
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={choices[at] === undefined ? undefined : `choice-${at}`}
          aria-label="Search or jump to"
          placeholder="Run, flow, page or #id"
          autofocus
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={keys}
        />
        <kbd>Esc</kbd>
      </div>
      <div class="palette-list" id="palette-list" role="listbox" aria-label="Found" ref={list}>
        {choices.length === 0 && <p class="faint">Nothing is called so.</p>}
        {choices.map((choice, index) => (
          <ChoiceRow
            key={choice.id}
            {...{ choice, index }}
            heads={choice.group !== choices[index - 1]?.group}
            selected={index === at}
            take={() => take(choice)}
          />
        ))}
      </div>
    </Dialog>
  );
}

function ChoiceRow({
  choice,
  index,
  heads,
  selected,
  take,
}: {
  choice: Choice;
  index: number;
  heads: boolean;
  selected: boolean;
  take: () => void;
}) {
  return (
    <>
      {heads && (
        <div class="palette-group" role="presentation">
          {choice.group}
        </div>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field above takes the keys */}
      <div id={`choice-${index}`} class="palette-choice" role="option" aria-selected={selected} tabIndex={-1} onClick={take}>
        {choice.mark}
        <span class="cut">{choice.text}</span>
        {choice.note !== undefined && <span class="push faint">{choice.note}</span>}
      </div>
    </>
  );
}

function choicesFor(text: string, flows: readonly FlowSummary[], runs: readonly Choice[]): Choice[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (name: string) => words.every((word) => name.toLowerCase().includes(word));
  const number = /^#?(\d[\d ]*)$/.exec(text.trim())?.[1]?.replaceAll(" ", "");
  const found: Choice[] = [];
  if (number !== undefined)
    found.push({ id: "number", group: "Runs", text: `Run #${number}`, run: () => navigate(pagePath("run", Number(number))) });
  found.push(...runs);
  if (words.length > 0)
    for (const { id, project, name } of flows.filter((flow) => fits(`${flow.project} / ${flow.name}`)).slice(0, FLOWS_FOUND))
      found.push({ id: `flow ${id}`, group: "Flows", text: `${project} / ${name}`, run: () => navigate(flowAddress(id, name)) });
  for (const { page, name, key } of RAIL.flat())
    if (fits(name)) found.push({ id: page, group: "Go", text: name, note: `g ${key}`, run: () => navigate(pagePath(page)) });
  for (const { name, query } of savedViews.value)
    if (fits(`View ${name}`))
      found.push({ id: `view ${name}`, group: "Go", text: `View ${name}`, run: () => navigate(`/runs?${query}`) });
  if (fits("Runs that went wrong"))
    found.push({ id: "wrong", group: "Go", text: "Runs that went wrong", run: () => navigate("/runs?states=Failed,Crashed") });
  if (fits("Switch theme dark light"))
    found.push({ id: "theme", group: "Do", text: "Switch theme", note: "t", run: switchTheme });
  return found;
}

/** The page of a flow, or its runs if there is no such page. */
function flowAddress(id: number, name: string): string {
  return "flow" in PAGES ? pagePath("flow", id) : withQuery(pagePath("runs"), { flow: name });
}

/** Runs whose name contains the text, newest first. */
function useFoundRuns(text: string): readonly Choice[] {
  const [found, setFound] = useState<readonly Choice[]>([]);
  useEffect(() => {
    const name = text.trim();
    if (name.length < 2 || name.startsWith("#")) {
      setFound([]);
      return;
    }
    const abort = new AbortController();
    const timer = window.setTimeout(() => {
      ask<RunsPage>(withQuery("/api/runs", { name, limit: RUNS_FOUND }), { signal: abort.signal }).then(
        ({ items }) => setFound(items.map(runChoice)),
        () => {},
      );
    }, TYPING_MS);
    return () => {
      window.clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return found;
}

function runChoice(run: RunsPage["items"][number]): Choice {
  return {
    id: `run ${run.id}`,
    group: "Runs",
    text: `${run.name}  ${run.project} / ${run.flow_name}`,
    mark: <StateGlyph look={lookOf(run.state)} />,
    note: `${roughDuration(nowUs() - run.created_at)} ago`,
    run: () => navigate(pagePath("run", run.id)),
  };
}
