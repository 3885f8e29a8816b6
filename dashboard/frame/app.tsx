/** The frame around every page. */
import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { pagePath } from "#protocol/routes/dashboard-pages";
import { KeyList, keyListOpen, openKeyList } from "../input/key-list.tsx";
import { useKeys } from "../input/keys.ts";
import { openPalette, Palette, paletteOpen } from "../input/palette.tsx";
import { TokenPrompt } from "../input/token-prompt.tsx";
import { Announcer } from "../live/announcer.tsx";
import { RAIL } from "../pages/pages.ts";
import { QuestionDialog } from "../parts/dialog.tsx";
import { Toasts } from "../parts/toast.tsx";
import { goBack, navigate, place } from "../router/router.ts";
import { Sprite } from "../state/glyph.tsx";
import { switchTheme } from "../state/theme.ts";
import { ClockBanner } from "./clock-banner.tsx";
import { CurrentPage } from "./current-page.tsx";
import { useServerInfo } from "./gauges.tsx";
import { Rail } from "./rail.tsx";
import { TopBar } from "./top-bar.tsx";

function close(open: Signal<boolean>): void {
  open.value = false;
}

export function App(): JSX.Element {
  const menuOpen = useSignal(false);
  const info = useServerInfo();
  const server = info.data;
  useEffect(() => place.subscribe(() => close(menuOpen)), []);
  useKeys(
    [
      ...RAIL.flat().map(({ page, name, key }) => ({ keys: `g ${key}`, does: name, run: () => navigate(pagePath(page)) })),
      { keys: "mod+k", does: "search or jump to", run: openPalette },
      { keys: "?", does: "this list", run: openKeyList },
      { keys: "t", does: "dark or light", run: switchTheme },
      { keys: "Escape", does: "back", run: () => goBack("/") },
    ],
    { group: "Everywhere" },
  );
  return (
    <>
      <Sprite />
      <a class="skip" href="#main">
        To the content
      </a>
      <div class="app">
        <TopBar menuOpen={menuOpen} server={server} />
        <Rail server={server} open={menuOpen.value} />
        <main id="main" tabIndex={-1}>
          <ClockBanner problem={server?.clock_problem} refresh={() => void info.refresh()} />
          <CurrentPage />
        </main>
      </div>
      <Toasts />
      <Announcer />
      <QuestionDialog />
      {paletteOpen.value && <Palette />}
      {keyListOpen.value && <KeyList />}
      <TokenPrompt />
    </>
  );
}
