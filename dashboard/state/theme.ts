/** Dark or light: that of the system until the reader chooses. */
import { readSetting, writeSetting } from "./settings.ts";

const SETTING = "theme";

export function applyTheme(): void {
  const chosen = readSetting(SETTING);
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset["theme"] = chosen;
}

export function switchTheme(): void {
  const { dataset } = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const next = (dataset["theme"] ?? system) === "dark" ? "light" : "dark";
  dataset["theme"] = next;
  writeSetting(SETTING, next);
}
