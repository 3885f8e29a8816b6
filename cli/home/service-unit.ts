/** The text of the systemd units that `millrace service install` writes. */
import { join } from "node:path";

/** Environment file of the service in the home, which keeps a token out of the unit and the process list. */
const ENVIRONMENT_FILE = "service.env";
/** The end of the server itself after the drain, which writes what is left in memory. */
const STOP_SECS = 30;
/**
 * Protections of a system unit. Flows run any program of the unit's user, so those that take devices, namespaces, address
 * families, /home or executable memory (V8 compiles) are left out; so is PrivateTmp, because systemd would delete the folder
 * under engines that outlive the server.
 */
const HARDENING = [
  "NoNewPrivileges=yes",
  "ProtectSystem=full",
  "ProtectClock=yes",
  "ProtectControlGroups=yes",
  "ProtectHostname=yes",
  "ProtectKernelLogs=yes",
  "ProtectKernelModules=yes",
  "ProtectKernelTunables=yes",
  "RestrictRealtime=yes",
  "RestrictSUIDSGID=yes",
  "LockPersonality=yes",
  "SystemCallArchitectures=native",
];

export interface UnitFacts {
  servedDir: string;
  home: string;
  port: string | undefined;
  command: readonly string[];
  /** Seconds that a stop waits for runs; 0 leaves busy engines to the next server. */
  drainSecs: number;
  /** True if the drain is to be on the command line, not in millrace.toml. */
  drainFlag: boolean;
  /** The system's unit runs as this user; null for a unit of the user's own services. */
  user: string | null;
  /** Name of the folder below /var/lib that systemd creates as the home; null for a home that exists already. */
  stateDirectory: string | null;
}

/**
 * Without a drain only the server itself is stopped (KillMode=process): busy engines continue and report to the next server.
 * Exit code 3 is wrong usage or a locked home, which a restart cannot fix.
 */
export function serviceUnit(facts: UnitFacts): string {
  const { servedDir, home, port, command, drainSecs, drainFlag, user, stateDirectory } = facts;
  const args = ["serve", servedDir, "--home", home, "--no-open", ...(port === undefined ? [] : ["--port", port])];
  if (drainFlag) args.push("--drain", `${drainSecs}s`);
  return [
    "[Unit]",
    `Description=Millrace, serving ${specifier(servedDir)}`,
    ...(user === null ? [] : ["Wants=network-online.target", "After=network-online.target"]),
    "",
    "[Service]",
    "Type=notify",
    "NotifyAccess=all",
    ...(user === null ? [] : [`User=${user}`]),
    ...(stateDirectory === null ? [] : [`StateDirectory=${stateDirectory}`, "StateDirectoryMode=0700"]),
    `ExecStart=${[...command, ...args].map(word).join(" ")}`,
    `WorkingDirectory=${specifier(servedDir)}`,
    `EnvironmentFile=-${specifier(join(home, ENVIRONMENT_FILE))}`,
    "Restart=on-failure",
    "RestartSec=2",
    "RestartPreventExitStatus=3",
    `KillMode=${drainSecs > 0 ? "mixed" : "process"}`,
    `TimeoutStopSec=${drainSecs + STOP_SECS}`,
    "UMask=0077",
    ...(user === null ? [] : HARDENING),
    "",
    "[Install]",
    `WantedBy=${user === null ? "default.target" : "multi-user.target"}`,
    "",
  ].join("\n");
}

/** One word of a command line in the syntax of systemd.service(5). */
function word(text: string): string {
  const escaped = specifier(text).replaceAll("$", "$$$$");
  return /^[\w@%+=:,./$-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** A per cent sign begins a specifier in systemd.unit(5). */
function specifier(text: string): string {
  return text.replaceAll("%", "%%");
}
