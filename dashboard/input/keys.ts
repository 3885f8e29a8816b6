/**
 * Keyboard shortcuts. A component binds keys while it is shown; `?` lists the bound keys. Plain characters can be switched off
 * (WCAG 2.1.4) and are off while the user types. A dialog hides the keys of the page below it.
 */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { readSetting, writeSetting } from "../state/settings.ts";

export interface KeyBinding {
  /** "j", "G", "?", "Enter", "mod+k", or a sequence: "g r". */
  keys: string;
  /** The effect, for the list of keys: "next row". */
  does: string;
  run: () => void;
}

interface Layer {
  group: string;
  modal: boolean;
  bindings: readonly KeyBinding[];
}

const SETTING = "single-keys";
/** Time within which the second key of a sequence must follow. */
const SEQUENCE_MS = 1_200;

/** False: plain character keys have no effect. */
export const singleKeys = signal(readSetting(SETTING) !== "off");

export function switchSingleKeys(): void {
  singleKeys.value = !singleKeys.value;
  writeSetting(SETTING, singleKeys.value ? null : "off");
}

const layers: { current: Layer }[] = [];

export interface KeyOptions {
  /** Heading in the list of keys. */
  group: string;
  /** True: while these keys are bound, those of the page below are not. */
  modal?: boolean;
}

/** Binds keys while the component is in the document; of two bindings of one key the later counts. */
export function useKeys(bindings: readonly KeyBinding[], { group, modal = false }: KeyOptions): void {
  const own = useRef({ current: { group, modal, bindings } as Layer });
  own.current.current = { group, modal, bindings };
  useLayoutEffect(() => {
    const layer = own.current;
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

/** All currently bound keys by group, for the list of keys. */
export function boundKeys(): { group: string; bindings: readonly KeyBinding[] }[] {
  const groups = new Map<string, KeyBinding[]>();
  for (const { current } of layers) {
    if (current.modal) continue;
    const known = groups.get(current.group) ?? [];
    groups.set(current.group, [...known, ...current.bindings]);
  }
  return [...groups].map(([group, bindings]) => ({ group, bindings }));
}

function active(): KeyBinding[] {
  const from = layers.findLastIndex(({ current }) => current.modal);
  return layers.slice(Math.max(0, from)).flatMap(({ current }) => current.bindings);
}

let prefix = "";
let prefixTimer = 0;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    !(target instanceof HTMLInputElement && /^(?:checkbox|radio|button)$/.test(target.type))
  );
}

function nameOf(event: KeyboardEvent): string {
  return event.ctrlKey || event.metaKey ? `mod+${event.key.toLowerCase()}` : event.key;
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const name = nameOf(event);
  const plain = name.length === 1;
  if (plain && (!singleKeys.value || isTyping(event.target))) return;
  // Enter and similar keys belong to the focused control.
  if (!plain && !name.startsWith("mod+") && name !== "Escape" && isControl(event.target)) return;
  const bindings = active();
  // The first Escape leaves the field; only the next leaves the page.
  if (name === "Escape" && isTyping(event.target) && !layers.some(({ current }) => current.modal)) {
    (event.target as HTMLElement).blur();
    return;
  }
  const wanted = prefix === "" ? name : `${prefix} ${name}`;
  window.clearTimeout(prefixTimer);
  prefix = "";
  const binding = bindings.findLast(({ keys }) => keys === wanted);
  if (binding !== undefined) {
    event.preventDefault();
    binding.run();
  } else if (plain && bindings.some(({ keys }) => keys.startsWith(`${name} `))) {
    prefix = name;
    prefixTimer = window.setTimeout(() => {
      prefix = "";
    }, SEQUENCE_MS);
  }
}

function isControl(target: EventTarget | null): boolean {
  return (
    isTyping(target) || (target instanceof Element && target.closest("button, a, summary, [role=tab], [role=option]") !== null)
  );
}

export function startKeys(): void {
  document.addEventListener("keydown", pressed);
}

/** The name of a key for users: "Ctrl K", "g r". */
export function keyText(keys: string): string {
  const mod = /Mac|iPhone|iPad/.test(navigator.platform) ? "\u2318" : "Ctrl";
  return keys.replace(/^mod\+(.)$/, (_match, letter: string) => `${mod} ${letter.toUpperCase()}`).replace("Escape", "Esc");
}
