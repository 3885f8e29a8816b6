/** The frame around every page, and the page itself. */
import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { pagePath } from "#protocol/dashboard-pages";
import { KeyList, keyListOpen, openKeyList } from "../input/key-list.tsx";
import { useKeys } from "../input/keys.ts";
import { openPalette, Palette, paletteOpen } from "../input/palette.tsx";
import { TokenPrompt } from "../input/token-prompt.tsx";
import { Announcer } from "../live/announcer.tsx";
import { PAGES, type PageModule, RAIL } from "../pages/pages.ts";
import { QuestionDialog } from "../parts/dialog.tsx";
import { Empty } from "../parts/notice.tsx";
import { Toasts } from "../parts/toast.tsx";
import { address, goBack, navigate, place, scrollKept } from "../router/router.ts";
import { Sprite } from "../state/glyph.tsx";
import { switchTheme } from "../state/theme.ts";
import { useServerInfo } from "./gauges.tsx";
import { Rail } from "./rail.tsx";
import { TopBar } from "./top-bar.tsx";

function close(open: Signal<boolean>): void {
  open.value = false;
}

export function App(): JSX.Element {
  const menuOpen = useSignal(false);
  const server = useServerInfo().data;
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

const loaded = new Map<string, PageModule>();

/** The page of the address; its module is fetched the first time. */
function CurrentPage(): JSX.Element | null {
  const found = address.value;
  const page = found?.page ?? null;
  const load = page === null ? undefined : PAGES[page];
  const [, redraw] = useState(0);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (page === null || load === undefined || loaded.has(page)) return;
    load().then(
      (module) => {
        loaded.set(page, module);
        redraw((times) => times + 1);
      },
      () => setFailed(true),
    );
  }, [page]);
  const module = page === null ? undefined : loaded.get(page);
  useLayoutEffect(() => {
    if (module !== undefined) window.scrollTo(0, scrollKept());
  }, [place.value.path, module]);
  if (found === null || load === undefined)
    return (
      <Empty title="There is no such page">
        <a href={pagePath("runs")}>Runs</a> has everything that ran.
      </Empty>
    );
  if (failed)
    return (
      <Empty title="The page could not be loaded">
        The server was not reached, or was replaced by another version.{" "}
        <button type="button" class="button small" onClick={() => location.reload()}>
          Load it again
        </button>
      </Empty>
    );
  if (module === undefined) return null;
  return <module.Page key={`${page} ${found.id}`} id={found.id ?? 0} />;
}
