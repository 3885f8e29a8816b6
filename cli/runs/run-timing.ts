/** `millrace runs timing`: where the time of a run went. */
import type { RunTiming, StageOfRun } from "#sdk/client/index";
import { connect } from "../connection.ts";
import { dateTime, duration } from "../terminal/format.ts";
import { renderTable } from "../terminal/table.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";
import { show, type ViewOptions } from "../terminal/view.ts";
import { positive } from "./runs.ts";

export async function showTiming(idText: string, options: ViewOptions): Promise<number> {
  const id = positive("the id of a run", idText);
  const client = connect(options);
  return await show(client, options, {
    read: () => client.runs.timing(id),
    lines: renderTiming,
    messages: { run_id: id, kinds: ["run.updated"] },
    changedBy: (message) => message.event === "run.updated" && message.data.id === id,
  });
}

export function renderTiming({ from, total_us, stages }: RunTiming, terminal: Terminal): string[] {
  if (stages.length === 0) return ["The server did not record the stages of this run."];
  const retried = stages.some(({ attempt }) => attempt !== stages[0]?.attempt);
  return [
    ...renderTable(
      [
        { head: "STAGE", cell: stageText, shrink: true },
        ...(retried ? [{ head: "ATTEMPT", cell: (row: StageOfRun) => String(row.attempt + 1), align: "right" as const }] : []),
        { head: "AFTER", cell: (row) => duration(row.from - from), align: "right" },
        { head: "TIME", cell: (row) => duration(row.us), align: "right" },
        { head: "SHARE", cell: (row) => shareText(row.us, total_us), align: "right" },
      ],
      stages,
      terminal,
    ),
    "",
    `${duration(total_us)} since ${dateTime(from)}`,
  ];
}

function stageText({ stage, object }: StageOfRun): string {
  return object === null ? stage.replaceAll("_", " ") : `${stage} by ${printable(object)}`;
}

function shareText(us: number, totalUs: number): string {
  return totalUs === 0 ? "" : `${((us / totalUs) * 100).toFixed(1)} %`;
}
