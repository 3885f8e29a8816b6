/**
 * Records the batches that a server commits, as they reach its store writer: a module loaded into the server before its code.
 * test/load/postgres-replay.ts plays the recording.
 *
 *   export RECORD_BATCHES=FILE NODE_OPTIONS="--conditions=millrace-src --import=$PWD/test/load/record-batches.ts"
 *   npm run load -- --phases steady --rounds 1 --runs 4000
 *
 * The file holds, for each commit, the length of the serialised request as four bytes and the request.
 */
import { appendFileSync } from "node:fs";
import { serialize } from "node:v8";
import type { CommitRequest } from "#storage/port";
import { Writer } from "#storage/write/writer";

const { RECORD_BATCHES: file } = process.env;
if (file === undefined) throw new Error("RECORD_BATCHES names the file of the recording");

const commit = Writer.prototype.commit;
Writer.prototype.commit = function (request: CommitRequest) {
  const result = commit.call(this, request);
  const body = serialize(request);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  appendFileSync(file, Buffer.concat([length, body]));
  return result;
};
