/** Refused batches: the core gives them up and decides again, so the writer must not store them, whenever they arrive. */
import t from "tap";
import { CommitClient } from "#actors/store-writer/commit-client";
import { StoreWriter } from "#actors/store-writer/store-writer";
import { Outbox } from "#runtime/effect";
import { type Batch, emptyDecision } from "#storage/write/batch";
import { putOperation } from "#storage/write/ops";
import { SqliteStore } from "#storage/write/sqlite-store";
import { Writer } from "#storage/write/writer";
import { SimulatedDisk } from "../../../sim/simulated-disk.ts";

/** A core's side of the commits, and the batches it has sent. */
class Core {
  readonly source: number;
  readonly batches: Batch[] = [];
  readonly commits: CommitClient;

  constructor(source: number) {
    this.source = source;
    this.commits = new CommitClient({
      source,
      send: (message) => void (message.kind === "Batch" && this.batches.push({ ...message })),
      reload: () => undefined,
    });
  }

  decide(value: string): void {
    const decision = emptyDecision();
    putOperation(decision.ops, "put_variable", { name: "a", value, secret: 0, tags: "[]", created_at: 1, updated_at: 1 });
    this.commits.deliver({ decision, turn: 1 }, "ordinary");
    this.commits.flush();
  }

  /** The group begins to reload. */
  reload(): void {
    void this.commits.settled();
  }
}

/** Store writers and cores whose messages a test delivers by hand. */
class CommitPath {
  readonly disk = new SimulatedDisk();
  core = new Core(1);
  /** What a look at the files finds. */
  problem: string | null = null;
  #writer = this.#newWriter("new_block");
  #generation = 1;

  constructor() {
    this.#greet(null);
  }

  #newWriter(stream: "new_block" | "continue"): StoreWriter {
    const close = (): void => undefined;
    const store = new SqliteStore(new Writer(this.disk.handle, { stream, nowUs: () => 0 }), close);
    const writer = new StoreWriter(store, { nowUs: () => 0, done: close });
    writer.watch({ problem: () => this.problem, note: close, clear: close }, new Outbox());
    return writer;
  }

  #greet(source: number | null): void {
    this.deliver(this.receive({ kind: "ReportGeneration", source, generation: this.#generation }));
  }

  restartWriters(): void {
    this.#writer = this.#newWriter("continue");
    this.#generation += 1;
    this.#greet(null);
  }

  restartCore(): void {
    this.core = new Core(this.core.source + 1);
    this.core.reload();
    this.#greet(this.core.source);
  }

  receive(message: Parameters<StoreWriter["receive"]>[0]): Outbox {
    const out = new Outbox();
    this.#writer.receive(message, out);
    return out;
  }

  /** Gives the core what the writer sent to it. */
  deliver(out: Outbox): void {
    for (const effect of out.effects)
      if (effect.kind === "Send" && effect.to === "commits") this.core.commits.deliver(effect.message, effect.lane);
  }

  look(): void {
    this.deliver(this.receive({ kind: "Look" }));
  }

  /** A batch arrives at the writer. */
  store(batch: Batch | undefined): void {
    if (batch === undefined) throw new Error("nothing was sent");
    this.deliver(this.receive({ batch, logs: { blocks: [], appended: [], nextLogId: 1 } }));
  }

  get stored(): unknown {
    return this.disk.database.prepareRaw<unknown[]>("SELECT value FROM variables WHERE name = 'a'").get()?.[0];
  }
}

t.test("decisions collected behind a refused batch are never stored, nor what is decided before the reload", async (t) => {
  const path = new CommitPath();
  const { core, disk } = path;
  core.decide("refused");
  core.decide("behind it");
  t.equal(core.batches.length, 1, "collected while the first is under way");
  disk.refusal = "io";
  path.store(core.batches[0]);
  disk.refusal = null;
  path.deliver(path.receive({ kind: "Probe" }));
  core.decide("from a memory that was never stored");
  t.equal(core.batches.length, 1);
  t.equal(path.stored, undefined);
  core.reload();
  core.decide("after it");
  path.store(core.batches[1]);
  t.equal(path.stored, "after it");
});

/** A file check finds a problem that has passed before the batch arrives. */
function refuseBefore(path: CommitPath, batch: Batch | undefined): Outbox {
  path.problem = "the file was taken away";
  path.look();
  path.problem = null;
  const probed = path.receive({ kind: "Probe" });
  path.store(batch);
  return probed;
}

t.test("a batch that was under way at a refusal is never stored, even when the trouble is over before it comes", async (t) => {
  const path = new CommitPath();
  const { core } = path;
  core.decide("before");
  path.store(core.batches[0]);
  core.decide("under way");
  const probed = refuseBefore(path, core.batches[1]);
  t.equal(path.stored, "before");
  path.deliver(probed);
  core.decide("from a memory that was never stored");
  t.equal(core.batches.length, 2);
  core.reload();
  core.decide("after it");
  path.store(core.batches[2]);
  t.equal(path.stored, "after it");
});

t.test("nor is the first batch of a core that was restarted", async (t) => {
  const path = new CommitPath();
  path.core.decide("before");
  path.store(path.core.batches[0]);
  path.restartCore();
  const { core } = path;
  core.decide("under way");
  path.deliver(refuseBefore(path, core.batches[0]));
  t.equal(path.stored, "before");
  core.reload();
  core.decide("after it");
  path.store(core.batches[1]);
  t.equal(path.stored, "after it");
});

t.test("nor a batch that was sent again to writers that were restarted", async (t) => {
  const path = new CommitPath();
  const { core } = path;
  core.decide("before");
  path.store(core.batches[0]);
  core.decide("under way");
  path.restartWriters();
  t.equal(core.batches.length, 3, "the batch is sent again");
  path.deliver(refuseBefore(path, core.batches[2]));
  t.equal(path.stored, "before");
  core.reload();
  core.decide("after it");
  path.store(core.batches[3]);
  t.equal(path.stored, "after it");
});

t.test("the first batch after a refusal with none under way is stored, also of a core restarted since", async (t) => {
  for (const restarted of [false, true]) {
    const path = new CommitPath();
    path.core.decide("before");
    path.store(path.core.batches[0]);
    path.problem = "the file was taken away";
    path.look();
    path.problem = null;
    path.deliver(path.receive({ kind: "Probe" }));
    if (restarted) path.restartCore();
    else path.core.reload();
    path.core.decide("after it");
    path.store(path.core.batches.at(-1));
    t.equal(path.stored, "after it");
  }
});
