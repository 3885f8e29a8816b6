/** The top bar: connection, figures, palette, clock and theme. */
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import type { ServerInfo } from "#protocol/records/server";
import { tickingDuration } from "../format/duration.ts";
import { now } from "../format/now.ts";
import { clockTime, LOCAL_ZONE, minuteTime, switchZone, zone } from "../format/time.ts";
import { keyText } from "../input/keys.ts";
import { openPalette } from "../input/palette.tsx";
import { lastNews, link } from "../live/link.ts";
import { Glyph } from "../state/glyph.tsx";
import { switchTheme } from "../state/theme.ts";
import { Gauges } from "./gauges.tsx";

const WORDS = { connecting: "Connecting", live: "Live", catching_up: "Catching up", resync: "Reading again" } as const;

function Connection(): JSX.Element {
  const { state } = link.value;
  if (state !== "offline")
    return (
      <div class={`link ${state}`}>
        <i aria-hidden="true" />
        {WORDS[state]}
      </div>
    );
  const title = `Figures are from ${clockTime(lastNews.value * 1000)}. Trying again every two seconds.`;
  return (
    <div class="link offline" title={title}>
      <i aria-hidden="true" />
      Offline for {tickingDuration((now.value - link.value.since) * 1000)}
    </div>
  );
}

/** The store takes no writes: changes made here are refused. */
function StoreProblem({ problem }: { problem: ServerInfo["store_problem"] | undefined }): JSX.Element | null {
  if (problem == null || link.value.state === "offline") return null;
  return (
    <div class="link offline" role="status" title={problem.message}>
      <i aria-hidden="true" />
      No writes for {tickingDuration(now.value * 1000 - problem.since)}
    </div>
  );
}

function Clock(): JSX.Element {
  const us = now.value * 1000;
  const other = zone.value === "utc" ? "local" : "utc";
  const names = { local: LOCAL_ZONE, utc: "UTC" };
  return (
    <button type="button" class="clock" onClick={switchZone} title={`Show times in ${names[other]}`}>
      <b>{clockTime(us)}</b> {names[zone.value]}
      {LOCAL_ZONE !== "UTC" && (
        <span class="faint">
          {" "}
          {minuteTime(us, other)} {names[other]}
        </span>
      )}
    </button>
  );
}

function Brand(): JSX.Element {
  return (
    <a class="brand" href="/">
      <svg viewBox="0 0 20 20" aria-hidden="true" fill="none" stroke="currentColor" stroke-linecap="round" stroke-width="1.7">
        <circle cx="11.5" cy="8.5" r="5.2" />
        <path d="M11.5 3.3v10.4M6.3 8.5h10.4" />
        <path d="M1.5 13.9c2.2 0 2.2 1.6 4.4 1.6s2.2-1.6 4.4-1.6 2.2 1.6 4.4 1.6 2.2-1.6 3.8-1.6" />
      </svg>
      Millrace
    </a>
  );
}

export function TopBar({ menuOpen, server }: { menuOpen: Signal<boolean>; server: ServerInfo | null }): JSX.Element {
  return (
    <header class="bar">
      <Brand />
      <Connection />
      <StoreProblem problem={server?.store_problem} />
      <Gauges server={server} />
      <button type="button" class="palette-button push" onClick={openPalette}>
        <Glyph name="search" />
        <span class="words">{"Search or jump to\u2026"}</span>
        <kbd class="push wide-inline">{keyText("mod+k")}</kbd>
      </button>
      <Clock />
      <button type="button" class="icon-button theme" title="Theme (t)" aria-label="Switch theme" onClick={switchTheme}>
        <Glyph name="theme" />
      </button>
      <button
        type="button"
        class="icon-button menu"
        aria-label="Menu"
        aria-expanded={menuOpen.value}
        onClick={() => {
          menuOpen.value = !menuOpen.value;
        }}
      >
        <Glyph name={menuOpen.value ? "close" : "menu"} />
      </button>
    </header>
  );
}
