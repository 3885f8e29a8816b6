/** The rail: the names of the pages, each with its key; server facts at its foot. */
import type { JSX } from "preact";
import type { ServerInfo } from "#protocol/records/server";
import { pagePath } from "#protocol/routes/dashboard-pages";
import { singleKeys } from "../input/keys.ts";
import { RAIL } from "../pages/pages.ts";
import { uptimeText } from "../records/uptime.ts";
import { address } from "../router/router.ts";

/** The entry of the rail for a page: a single run belongs to the runs. */
function isCurrent(page: string): boolean {
  const current = address.value?.page ?? "";
  return current === page || `${current}s` === page;
}

export function Rail({ server, open }: { server: ServerInfo | null; open: boolean }): JSX.Element {
  return (
    <nav class={`rail ${open ? "open" : ""}`} aria-label="Pages">
      {RAIL.map((group, index) => (
        <ul key={index}>
          {group.map(({ page, name, key }) => (
            <li key={page}>
              <a href={pagePath(page)} aria-current={isCurrent(page) ? "page" : undefined}>
                {name}
                {singleKeys.value && <kbd class="plain">g {key}</kbd>}
              </a>
            </li>
          ))}
        </ul>
      ))}
      {server !== null && (
        <small>
          Millrace {server.version}
          <br />
          up {uptimeText(server.started_at)} {"\u00b7"} pid {server.pid}
        </small>
      )}
    </nav>
  );
}
