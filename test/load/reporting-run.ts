/** A run whose engine reports events of user code, any number per request. */
import { HttpConnection } from "./http-connection.ts";
import { field, type Target } from "./target.ts";

const ENGINE = { engine_id: "load-1", pid: process.pid };
/** Above the largest work item. */
const ANSWER_BYTES = 65_536;

export class ReportingRun {
  readonly #connection: HttpConnection;
  readonly #id: number;
  #seq = 0;

  private constructor(connection: HttpConnection, id: number) {
    this.#connection = connection;
    this.#id = id;
  }

  static async start({ endpoint, flow }: Target): Promise<ReportingRun> {
    const connection = new HttpConnection(endpoint, ANSWER_BYTES);
    const { project, name, module, source_dir } = flow;
    const created = await post(connection, "/api/runs", { project, flow: name, module, source_dir });
    const run = new ReportingRun(connection, Number(field(created, "id")));
    await post(connection, "/api/engine/work", { ...ENGINE, module, source_dir });
    for (const type of ["Pending", "Running"]) await post(connection, `/api/runs/${run.#id}/transition`, { type });
    return run;
  }

  /** Reports an event of each name; resolves when the events are stored. */
  async report(names: readonly string[]): Promise<void> {
    const events = names.map((name) => {
      this.#seq += 1;
      return { kind: "custom", seq: this.#seq, name, payload: { n: this.#seq } };
    });
    await post(this.#connection, "/api/engine/report", { engine_id: ENGINE.engine_id, run_id: this.#id, events });
  }

  close(): void {
    this.#connection.close();
  }
}

async function post(connection: HttpConnection, path: string, body: object): Promise<unknown> {
  const answer = await connection.post(path, JSON.stringify(body), true);
  if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.body.slice(0, 200)}`);
  return answer.body === "" ? null : JSON.parse(answer.body);
}
