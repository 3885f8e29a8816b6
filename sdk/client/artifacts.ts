/** `client.artifacts`: what runs published for people to look at. */

import type { Http } from "./http.ts";
import { Listing, type ListOptions, type Page } from "./listing.ts";
import type { Artifact, JsonObject } from "./records.ts";

/** Filters of the artifact list; all must hold. */
export interface ArtifactFilter {
  kind?: string | undefined;
  key?: string | undefined;
  flow?: string | undefined;
  project?: string | undefined;
  run_id?: number | undefined;
}

export interface CreateArtifact {
  run_id: number;
  /** markdown `{text}`, table `{columns, rows}`, progress `{value, label}`, link `{url, text}` or image `{src}`. */
  kind: string;
  /** At most 1 MB as JSON. */
  data: JsonObject;
  /** Artifacts under one key form a history across runs. */
  key?: string | undefined;
  task_run_id?: number | undefined;
}

export class Artifacts {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Artifacts of all runs, newest first. */
  list(filter: ArtifactFilter = {}, options: ListOptions = {}): Listing<Artifact> {
    return new Listing((cursor) =>
      this.#http.get<Page<Artifact>>("/api/artifacts", { ...filter, limit: options.pageSize, after: cursor }, options.signal),
    );
  }

  /** @throws MillraceError 404 unknown run; 422 a kind or data that is not valid, or over 1 MB. */
  create(artifact: CreateArtifact): Promise<Artifact> {
    return this.#http.json<Artifact>("POST", "/api/artifacts", { body: artifact });
  }
}
