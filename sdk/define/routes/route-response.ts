/** Converts the return value of a handler to a whole answer. */

/** Headers of one connection, or written by the server itself. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"],
]);

/** An answer with its body read. */
export interface WholeResponse {
  status: number;
  /** Flat list: name, value, name, value; names may repeat. */
  headers: string[];
  body: Uint8Array | null;
}

/**
 * The answer for a handler's return value: a Response unchanged, undefined as 204, any other value as JSON.
 * @throws TypeError for a value that is not JSON.
 */
export function responseOf(value: unknown): Response {
  if (isResponse(value)) return value;
  if (value === undefined) return new Response(null, { status: 204 });
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`a handler returns a Response or a value that is JSON, not a ${typeof value}`);
  return new Response(text, { headers: { "content-type": "application/json" } });
}

/** Also true for a Response of another implementation of the Fetch API. */
function isResponse(value: unknown): value is Response {
  if (value instanceof Response) return true;
  return typeof value === "object" && value !== null && "arrayBuffer" in value && "status" in value && "headers" in value;
}

/**
 * Reads the body, up to a limit.
 * @throws RangeError for a longer body and for a status that cannot be sent.
 */
export async function readWhole(response: Response, bytesMax: number): Promise<WholeResponse> {
  const { status } = response;
  if (!(status >= 200 && status <= 599)) throw new RangeError(`a response needs a status from 200 to 599, not ${status}`);
  const headers = [...response.headers].filter(([name]) => !OF_THE_CONNECTION.has(name)).flat();
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new RangeError(`the body of a response has at most ${bytesMax} bytes`);
    pieces.push(piece);
  }
  return { status, headers, body: response.body === null ? null : new Uint8Array(Buffer.concat(pieces, bytes)) };
}
