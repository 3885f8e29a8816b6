import { flow } from "millrace";

export const empty = flow("empty", async () => undefined);
