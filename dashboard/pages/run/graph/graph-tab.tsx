/** The dependencies between tasks, and the runs that the run has called. Loaded with its own chunk when the tab is opened. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, counted } from "../../../format/number.ts";
import { Segments } from "../../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../../parts/notice.tsx";
import { withParams } from "../../../router/router.ts";
import { Glyph } from "../../../state/glyph.tsx";
import { lookOf, lookOfName } from "../../../state/look.ts";
import { useChildRuns, useOtherRun } from "../child-runs.tsx";
import { MoreTasks } from "../more-tasks.tsx";
import type { TabProps } from "../run-page.tsx";
import { noTasks, useTasks } from "../tasks.ts";
import { useLayout } from "./laid-out.ts";
import { BOX, type Layout, type Point } from "./layout-shapes.ts";
import { calledBox, type GraphBox, type GraphModel, graphOf, NODES_MAX } from "./model.ts";
import "./graph.css";

export function Tab({ run }: TabProps): JSX.Element {
  const { tasks, more, error, refresh } = useTasks(run.id);
  const called = useChildRuns(run);
  const model = useMemo(() => graphOf(tasks ?? [], called), [tasks, called.join()]);
  if (error !== null && tasks === null) return <Failure what="The list of tasks" error={error} again={refresh} />;
  if (tasks === null) return <Loading />;
  if (tasks.length + called.length === 0)
    return <Empty title={noTasks(run)}>A flow that calls no task and no run has no graph.</Empty>;
  if (model.by === "none")
    return (
      <Empty title="Too many to be drawn">
        The run has {counted(tasks.length, "task")} of more than {count(NODES_MAX)} names.{" "}
        <a href={withParams({ tab: "tasks" })}>All of them in the table</a>
      </Empty>
    );
  return (
    <>
      <MoreTasks more={more} />
      <Drawn model={model} tasks={tasks.length} called={called.length} />
    </>
  );
}

type Zoom = "fit" | "full";
/** Smaller text is unreadable: the graph scrolls instead. */
const SCALE_MIN = 0.45;

function Drawn({ model, tasks, called }: { model: GraphModel; tasks: number; called: number }): JSX.Element {
  const { layout, failed } = useLayout(model);
  const [zoom, setZoom] = useState<Zoom>("fit");
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  if (failed) return <Empty title="The graph could not be laid out">Reload the page, or see the tasks in their table.</Empty>;
  const scale = layout === null || zoom === "full" ? 1 : Math.max(SCALE_MIN, Math.min(1, width / Math.max(1, layout.width)));
  return (
    <>
      <div class="toolbar">
        <Segments
          label="Size"
          options={[
            ["fit", "Fit"],
            ["full", "Full size"],
          ]}
          chosen={zoom}
          choose={setZoom}
        />
        <span class="meta dim">
          {model.by === "tasks" ? (
            `${counted(tasks, "task")}, ${counted(model.edges.length, "line")} from what was waited for`
          ) : (
            <>
              {count(tasks)} tasks are too many to be drawn one by one: a box stands for each name.{" "}
              <a class="underlined" href={withParams({ tab: "tasks" })}>
                All of them in the table
              </a>
            </>
          )}
          {called > 0 && (
            <>
              {", "}
              <a class="underlined" href={withParams({ tab: "children" })}>
                {counted(called, "child run")}
              </a>
              {called > model.called.length && ` of which ${count(model.called.length)} are drawn`}
            </>
          )}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard */}
      <div class="graph" ref={frame} tabIndex={0} role="region" aria-label="Graph of tasks">
        {layout === null ? <Loading /> : <Picture {...{ model, layout, scale }} />}
      </div>
    </>
  );
}

/** Inner width of an element, as it changes. */
function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(1000);
  useEffect(() => {
    const box = element.current;
    if (box === null) return;
    const observer = new ResizeObserver(() => setWidth(box.clientWidth - 2 * PADDING));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  return width;
}

const PADDING = 16;

function Picture({ model, layout, scale }: { model: GraphModel; layout: Layout; scale: number }): JSX.Element {
  const size = { width: `${layout.width * scale}px`, height: `${layout.height * scale}px` };
  return (
    <div class="graph-space" style={size}>
      <div class="graph-plane" style={{ width: `${layout.width}px`, height: `${layout.height}px`, transform: `scale(${scale})` }}>
        <svg width={layout.width} height={layout.height} aria-hidden="true">
          {layout.lines.map(({ key, points }) => (
            <path key={key} d={lineThrough(points)} />
          ))}
        </svg>
        <ul>
          {model.boxes.map((box) => {
            const at = layout.places[box.id];
            return at === undefined ? null : <Box key={box.id} box={box} at={at} />;
          })}
          {model.called.map((id) => {
            const at = layout.places[calledBox(id)];
            return at === undefined ? null : <CalledBox key={id} id={id} at={at} />;
          })}
        </ul>
      </div>
    </div>
  );
}

/** A line that is level at every point, so that it never crosses the box at which it begins or ends. */
function lineThrough(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const parts = rest.map((to, index) => {
    const from = points[index] ?? first;
    const middle = (from.x + to.x) / 2;
    return `C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}`;
  });
  return `M${first.x} ${first.y}${parts.join("")}`;
}

function styleAt({ x, y }: Point): Record<string, string> {
  return { left: `${x}px`, top: `${y}px`, width: `${BOX.width}px`, height: `${BOX.height}px` };
}

/** A run that the run has called. */
function CalledBox({ id, at }: { id: number; at: Point }): JSX.Element {
  const { data } = useOtherRun(id);
  const look = data === null ? null : lookOf(data.state);
  const words = data === null ? `#${id}` : `${data.flow_name} #${id}`;
  return (
    <li style={styleAt(at)}>
      <a
        class={`graph-box called ${look === null ? "" : `s-${look.token} ${look.loudness}`}`}
        href={`/runs/${id}`}
        title={look === null ? words : `Child run ${words}: ${look.word}`}
      >
        {look !== null && <Glyph name={look.token} size={13} />}
        <span class="sr">Child run{look === null ? "" : `, ${look.word}`}: </span>
        <span class="cut">{words}</span>
      </a>
    </li>
  );
}

function Box({ box, at }: { box: GraphBox; at: Point }): JSX.Element {
  const told = box.states.map(([state, number]) => `${count(number)} ${lookOfName(state).word}`).join(", ");
  return (
    <li style={styleAt(at)}>
      <a
        class={`graph-box s-${box.look.token} ${box.look.loudness}`}
        href={withParams({ tab: "tasks", task: box.taskName })}
        title={`${box.name}: ${box.tasks === 1 ? box.look.word : told}`}
      >
        <Glyph name={box.look.token} size={13} />
        <span class="sr">{box.tasks === 1 ? box.look.word : told}: </span>
        <span class="cut">{box.name}</span>
        {box.tasks > 1 && <span class="push num faint">{count(box.tasks)}</span>}
      </a>
    </li>
  );
}
