/** Samples of a measurement: work ended per second, and processor time and memory of each process, several times a second. */
import { MIB, type ProcessUsage } from "./process-usage.ts";

const SAMPLE_MS = 250;
const US_PER_S = 1_000_000;

/** One value of each list for each sample. */
export interface Timeline {
  /** Since the beginning of the measurement. */
  seconds: number[];
  /** What ended per second since the sample before. */
  rate: number[];
  processes: { name: string; cores: number[]; mib: number[] }[];
}

export interface TimelineSources {
  /** What has ended so far. */
  ended: () => number;
  /** By name. Null: the process cannot be read. */
  processes: Readonly<Record<string, () => ProcessUsage | null>>;
  /** Called with each sample. */
  live?: (text: string) => void;
}

export interface Moment {
  ms: number;
  ended: number;
  usage: (ProcessUsage | null)[];
}

export class TimelineSampler {
  readonly #sources: TimelineSources;
  readonly #readers: (() => ProcessUsage | null)[];
  readonly #moments: Moment[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(sources: TimelineSources) {
    this.#sources = sources;
    this.#readers = Object.values(sources.processes);
    this.#moments.push(this.#now());
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  /** Ends the sampling of a measurement that has failed. */
  stop(): void {
    clearInterval(this.#timer);
  }

  end(): Timeline {
    this.stop();
    const last = this.#now();
    const before = this.#moments.at(-1);
    // A rate over a moment says nothing.
    if (this.#moments.length > 1 && before !== undefined && last.ms - before.ms < SAMPLE_MS / 2) this.#moments.pop();
    this.#moments.push(last);
    return timelineOf(Object.keys(this.#sources.processes), this.#moments);
  }

  #now(): Moment {
    return { ms: performance.now(), ended: this.#sources.ended(), usage: this.#readers.map((read) => read()) };
  }

  #sample(): void {
    const now = this.#now();
    const begun = this.#moments[0] ?? now;
    this.#moments.push(now);
    const [ended, seconds] = [now.ended - begun.ended, (now.ms - begun.ms) / 1_000];
    this.#sources.live?.(`${ended} ended after ${seconds.toFixed(0)} s, ${(ended / seconds).toFixed(0)}/s`);
  }
}

/** The differences between the moments. */
export function timelineOf(names: readonly string[], moments: readonly Moment[]): Timeline {
  const timeline: Timeline = { seconds: [], rate: [], processes: names.map((name) => ({ name, cores: [], mib: [] })) };
  const [begun] = moments;
  let last = begun;
  for (const now of moments.slice(1)) {
    if (begun === undefined || last === undefined) break;
    const seconds = (now.ms - last.ms) / 1_000;
    timeline.seconds.push((now.ms - begun.ms) / 1_000);
    timeline.rate.push((now.ended - last.ended) / seconds);
    for (const [index, { cores, mib }] of timeline.processes.entries()) {
      const [before, after] = [last.usage[index], now.usage[index]];
      cores.push(before == null || after == null ? 0 : Math.max(0, after.cpuUs - before.cpuUs) / US_PER_S / seconds);
      mib.push((after?.residentBytes ?? 0) / MIB);
    }
    last = now;
  }
  return timeline;
}
