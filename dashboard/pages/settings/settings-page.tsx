/** Settings: those that can be changed at run time, the effective configuration, and those of this browser. */
import type { JSX } from "preact";
import type { ServerInfo, Settings } from "#protocol/records/server";
import { useQuery } from "../../api/query.ts";
import { bytes, count } from "../../format/number.ts";
import { fullTime } from "../../format/time.ts";
import { PageTitle, Section } from "../../parts/layout.tsx";
import { Banner, Failure, Loading } from "../../parts/notice.tsx";
import { uptimeText } from "../../records/uptime.ts";
import { Glyph } from "../../state/glyph.tsx";
import { ActorsTable } from "./actors-table.tsx";
import { Browser } from "./browser.tsx";
import { Changeable } from "./changeable.tsx";
import { RoutesTable } from "./routes-table.tsx";
import "./settings.css";

/** Sizes and usage change without a stream message. */
const EVERY_MS = 10_000;

export function Page(): JSX.Element {
  const settings = useQuery<Settings>("/api/settings", { live: { "flow.registered": true }, everyMs: EVERY_MS });
  const server = useQuery<ServerInfo>("/api/server").data;
  const { data, error } = settings;
  return (
    <>
      <PageTitle title="Settings" />
      <p class="sub">
        {data !== null && `Millrace ${data.version}`}
        {server !== null && `, up ${uptimeText(server.started_at)}, since ${fullTime(server.started_at)}`}
      </p>
      {error !== null && <Failure what="The settings" error={error} again={settings.refresh} />}
      {data === null && error === null && <Loading rows={8} />}
      {data?.secret_key_missing === true && (
        <Banner token="failed">
          <b>The key of the secrets is missing.</b> Secret variables cannot be read until its file is back in{" "}
          <bdi>{data.home}</bdi>.
        </Banner>
      )}
      <div class="settings-two">
        <div>
          {data !== null && <Changeable settings={data} changed={() => void settings.refresh()} />}
          <Browser />
        </div>
        <div>{data !== null && <Facts settings={data} url={server?.url ?? ""} />}</div>
      </div>
      <ActorsTable />
      {data !== null && <RoutesTable routes={data.custom_routes} />}
    </>
  );
}

function Facts({ settings, url }: { settings: Settings; url: string }): JSX.Element {
  const { catchup_default, max_engines, engine_max_runs, saturation_flows, saturation_reason } = settings;
  return (
    <>
      <Section title="Server">
        <dl class="key-values">
          <dt>Address</dt>
          <dd class="mono">{url === "" ? `${settings.host}:${settings.port}` : url}</dd>
          <dt>Process</dt>
          <dd class="number">pid {settings.pid}</dd>
          <dt>Home</dt>
          <dd class="mono">{settings.home}</dd>
          <dt>Serves</dt>
          <dd class="mono">{settings.served_dir ?? <span class="faint">no directory</span>}</dd>
        </dl>
      </Section>
      <Section title="Storage">
        <dl class="key-values">
          <dt>Database</dt>
          <dd class="mono">{settings.database_path}</dd>
          <dt>Size</dt>
          <dd>
            {bytes(settings.database_bytes)}, and {bytes(settings.wal_bytes)} of write-ahead log
          </dd>
        </dl>
      </Section>
      <Section title="Engines">
        <dl class="key-values">
          <dt>At most</dt>
          <dd class="number">{count(max_engines)} processes</dd>
          <dt>Each runs</dt>
          <dd class="number">
            {engine_max_runs === 0 ? "without limit" : `${count(engine_max_runs)} runs, then a new one takes its place`}
          </dd>
          <dt>Missed fires</dt>
          <dd>{catchup_default}, unless a schedule says otherwise</dd>
          {settings.engine_saturation_risk && (
            <>
              <dt>Saturation</dt>
              <dd class="s-late settings-mark">
                <Glyph name="full" /> {saturation_flows.join(", ")}
                {saturation_reason && `: ${saturation_reason}`}
              </dd>
            </>
          )}
        </dl>
      </Section>
      <Section title="Secrets and mail">
        <dl class="key-values">
          <dt>Secrets</dt>
          <dd>{keyText(settings)}</dd>
          <dt>Mail</dt>
          <dd>{settings.email_configured ? "is set up" : "is not set up: rules that mail fail"}</dd>
        </dl>
      </Section>
    </>
  );
}

function keyText({ secret_key_present, secret_key_missing }: Settings): string {
  if (secret_key_missing) return "the key is missing";
  return secret_key_present ? "the key is there" : "no key yet; the first secret makes one";
}
