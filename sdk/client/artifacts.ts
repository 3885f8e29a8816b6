/** `client.artifacts`: records that runs published for people. */

import type { ArtifactsQuery } from "#protocol/records/artifact";
import type { Http } from "./http.ts";
import { Listing, type ListOptions, type Page } from "./listing.ts";
import type { ArtifactBody, ArtifactListItem, ArtifactRow, FilterOf, Loose } from "./records.ts";

/** Filters of the artifact list; all must match. */
export type ArtifactFilter = Omit<FilterOf<ArtifactsQuery>, "after">;

/**
 * Data by kind: markdown `{text}`, table `{columns, rows}`, progress `{value, label}` (0 to 100), link `{url, text}`,
 * image `{src}`; at most 1 MB as JSON. Artifacts under one key form a history across runs.
 */
export type CreateArtifact = Loose<ArtifactBody> & Pick<ArtifactBody, "run_id" | "kind" | "data">;

export class Artifacts {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Artifacts of all runs, newest first. */
  list(filter: ArtifactFilter = {}, options: ListOptions = {}): Listing<ArtifactListItem> {
    return new Listing((cursor) =>
      this.#http.get<Page<ArtifactListItem>>(
        "/api/artifacts",
        { ...filter, limit: options.pageSize, after: cursor },
        options.signal,
      ),
    );
  }

  /**
   * Publishes an artifact of a run. @throws MillraceError 404 unknown run; 422 a kind or data that is not valid, or over 1 MB.
   */
  create(artifact: CreateArtifact): Promise<ArtifactRow> {
    return this.#http.json<ArtifactRow>("POST", "/api/artifacts", { body: artifact });
  }
}
