/** Notifies systemd that the server is ready or stopping (sd_notify), if a unit of type notify started the server. */
import { spawn } from "node:child_process";

/**
 * Node has no datagram sockets of the Unix domain, so the program of systemd sends the message; the unit therefore needs
 * NotifyAccess=all. Does nothing outside such a unit.
 */
export function notifySystemd(state: "--ready" | "--stopping", env: NodeJS.ProcessEnv = process.env): void {
  if (!env["NOTIFY_SOCKET"]) return;
  const child = spawn("systemd-notify", [state], { stdio: ["ignore", "ignore", "inherit"], env });
  child.on("error", (error) => process.stderr.write(`millrace: systemd gets no news of this service: ${error.message}\n`));
  child.unref();
}
