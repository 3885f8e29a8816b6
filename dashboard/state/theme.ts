/** Dark or light: the system's theme until the user chooses. */
import { signal } from "@preact/signals";
import { readSetting, writeSetting } from "./settings.ts";

export type Theme = "system" | "light" | "dark";

const SETTING = "theme";
const kept = readSetting(SETTING);

/** The user's choice. */
export const theme = signal<Theme>(kept === "dark" || kept === "light" ? kept : "system");

export function applyTheme(): void {
  const { dataset } = document.documentElement;
  if (theme.value === "system") delete dataset["theme"];
  else dataset["theme"] = theme.value;
}

export function chooseTheme(choice: Theme): void {
  theme.value = choice;
  writeSetting(SETTING, choice === "system" ? null : choice);
  applyTheme();
}

export function switchTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const now = theme.value === "system" ? system : theme.value;
  chooseTheme(now === "dark" ? "light" : "dark");
}
