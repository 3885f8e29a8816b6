/** Reads the frames that a recorded exchange got from the stream. */
import type { RecordedExchange } from "./recorded-exchange.ts";

export interface ReceivedFrame {
  id: number | null;
  event: string;
  data: Record<string, unknown>;
}

export function framesOf(exchange: RecordedExchange): ReceivedFrame[] {
  return exchange.pieces
    .join("")
    .split("\n\n")
    .filter((text) => text !== "" && text !== ":")
    .map((text) => {
      const fields = new Map(
        text.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
      );
      const id = fields.get("id");
      return {
        id: id === undefined ? null : Number(id),
        event: fields.get("event") ?? "",
        data: JSON.parse(fields.get("data") ?? "null"),
      };
    });
}
