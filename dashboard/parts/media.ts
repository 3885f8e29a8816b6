/** Window widths at which the layout changes. */
import { signal } from "@preact/signals";

function media(query: string) {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener("change", () => {
    matches.value = list.matches;
  });
  return () => matches.value;
}

/** At most 900 px: one column. */
export const useNarrow = media("(max-width: 900px)");
/** More than 1180 px: room for panels below and beside. */
export const useWide = media("(min-width: 1181px)");
