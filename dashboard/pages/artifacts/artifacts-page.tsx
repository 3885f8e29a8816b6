/** Published artifacts: the newest across all runs, the history of one key, and one artifact in the view of its kind. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ArtifactListItem } from "#protocol/records/artifact";
import { count } from "../../format/number.ts";
import { fullTime, shortTime } from "../../format/time.ts";
import { useKeys } from "../../input/keys.ts";
import { Key, PageTitle, Select } from "../../parts/layout.tsx";
import { useNarrow } from "../../parts/media.ts";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { type Column, Table, TIME_WIDTH } from "../../parts/table/table.tsx";
import { ARTIFACT_KIND_WORDS, titleOf } from "../../records/artifact-view.tsx";
import { useFlows } from "../../records/flows.ts";
import { FlowName } from "../../records/run-parts.tsx";
import { param, stepParams, withParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import { type ArtifactFilters, ArtifactList } from "./artifact-list.ts";
import { ArtifactPanel } from "./artifact-panel.tsx";
import "./artifacts.css";

/** Rows enter automatically while the list is scrolled by at most this much. */
const TOP_PX = 40;

const COLUMNS: readonly Column<ArtifactListItem>[] = [
  {
    id: "title",
    head: "Artifact",
    narrow: "line",
    cell: (artifact) => (
      <a class="row-link cut name" href={withParams({ artifact: String(artifact.id) })} title={titleOf(artifact)}>
        {titleOf(artifact)}
      </a>
    ),
  },
  { id: "kind", head: "Kind", width: "84px", narrow: "start", cell: ({ kind }) => <span class="dim">{kind}</span> },
  {
    id: "key",
    head: "Key",
    width: "20%",
    medium: false,
    cell: ({ key }) =>
      key === null || key === undefined ? (
        <span class="faint">none</span>
      ) : (
        <a class="cut mono" href={withParams({ key, artifact: null })} title={key}>
          {key}
        </a>
      ),
  },
  { id: "flow", head: "Flow", width: "26%", medium: false, narrow: "line", cell: (artifact) => <FlowName run={artifact} /> },
  {
    id: "time",
    head: "Published",
    width: TIME_WIDTH,
    align: "right",
    narrow: "end",
    cell: ({ created_at }) => <time title={fullTime(created_at)}>{shortTime(created_at)}</time>,
  },
];

/** Beside an open artifact there is room for fewer columns. */
const BESIDE = COLUMNS.filter(({ id }) => id !== "key" && id !== "flow");

function readFilters(): ArtifactFilters {
  const [project = "", flow = ""] = param("flow") === "" ? [] : param("flow").split(" / ");
  return { kind: param("kind"), key: param("key"), project, flow };
}

export function Page(): JSX.Element {
  const filters = readFilters();
  const list = useList(filters);
  const cursor = useSignal<number | string | null>(null);
  const items = list.items.value;
  const chosen = items.find(({ id }) => String(id) === param("artifact"));
  const narrow = useNarrow();
  useKeys([{ keys: ".", does: "show new artifacts", run: () => void list.pages.reload() }], { group: "Artifacts" });
  return (
    <>
      <PageTitle title={filters.key === "" ? "Artifacts" : `History of ${filters.key}`} />
      <Filters filters={filters} />
      {list.news.value.size > 0 && (
        <p class="artifact-news">
          <button type="button" class="button" onClick={() => void list.pages.reload()}>
            {count(list.news.value.size)} new above <Key name="." />
          </button>
        </p>
      )}
      {list.pages.error.value !== null && (
        <Failure what="The list" error={list.pages.error.value} again={() => void list.pages.reload()} />
      )}
      {!list.pages.loaded.value && list.pages.error.value === null && <Loading />}
      {list.pages.loaded.value && items.length === 0 && <Nothing filters={filters} />}
      {items.length > 0 && (
        <div class={chosen === undefined ? "" : "artifact-split"}>
          <div class={chosen !== undefined && narrow ? "artifact-behind" : ""}>
            <Table
              label="Artifacts"
              columns={chosen === undefined ? COLUMNS : BESIDE}
              rows={items}
              keyOf={({ id }) => id}
              href={({ id }) => withParams({ artifact: String(id) })}
              total={items.length}
              cursor={cursor}
              nearEnd={() => void list.pages.more()}
              narrowHeight={70}
            />
          </div>
          {chosen !== undefined && <ArtifactPanel artifact={chosen} />}
        </div>
      )}
    </>
  );
}

function useList(filters: ArtifactFilters): ArtifactList {
  const key = JSON.stringify(filters);
  const list = useMemo(() => new ArtifactList(filters), [key]);
  list.atTop = () => window.scrollY <= TOP_PX && !document.hidden;
  useEffect(() => () => list.end(), [list]);
  return list;
}

function Filters({ filters }: { filters: ArtifactFilters }): JSX.Element {
  const flows = useFlows().data ?? [];
  const [key, setKey] = useState(filters.key);
  // The field shows a key chosen in the list.
  useEffect(() => setKey(filters.key), [filters.key]);
  const names = flows.map(({ project, name }) => `${project} / ${name}`).sort();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    stepParams({ key, artifact: null });
  };
  const any = param("kind") !== "" || param("flow") !== "" || filters.key !== "";
  return (
    <form class="toolbar" onSubmit={submit}>
      <label class="field search">
        <Glyph name="search" />
        <span class="sr">Key</span>
        <input type="text" placeholder="A key, spelled out" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
      </label>
      <Select
        label="Kind"
        options={[["", "Every kind"], ...Object.entries(ARTIFACT_KIND_WORDS)]}
        chosen={filters.kind}
        choose={(kind) => stepParams({ kind, artifact: null })}
      />
      <Select
        label="Flow"
        options={[["", "Every flow"], ...names.map((name) => [name, name] as const)]}
        chosen={param("flow")}
        choose={(flow) => stepParams({ flow, artifact: null })}
      />
      {any && (
        <a class="button quiet" href="/artifacts">
          Clear
        </a>
      )}
    </form>
  );
}

function Nothing({ filters }: { filters: ArtifactFilters }): JSX.Element {
  if (Object.values(filters).every((value) => value === ""))
    return (
      <Empty title="No artifacts yet" command={'artifact.markdown("Report", "# What came of it", { key: "report" })'}>
        Text, tables, progress, links and pictures that flows publish for people. Those of one key form a history.
      </Empty>
    );
  return (
    <Empty title="No artifact matches">
      {filters.key === "" ? (
        "No artifact fits these filters."
      ) : (
        <>
          No artifact has the key <bdi>{filters.key}</bdi>, spelled so.
        </>
      )}{" "}
      <a href="/artifacts">All artifacts</a>
    </Empty>
  );
}
