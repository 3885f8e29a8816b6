/** The user code actor on the main thread, and the process that it calls. */
import { resolve } from "node:path";
import { USER_CODE } from "#actors/names";
import { UserCode } from "#actors/user-code/user-code";
import { RULE_CALL_MS_MAX } from "#protocol/limits";
import type { Host } from "#runtime/host";
import type { ServerConfig } from "../config/config.ts";
import { type KeeperOptions, UserCodeKeeper } from "./keeper.ts";
import { ServedCode } from "./served-code.ts";

/** User code may block the event loop of its process as long as one call of a rule may take. */
const BLOCKED_MS = RULE_CALL_MS_MAX;

export interface CodeLines {
  /** Receives one line about a failure. */
  complain(line: string): void;
  /** Receives one line about a normal event. */
  tell(line: string): void;
}

export function registerUserCode(host: Host, config: ServerConfig, servedDir: string, lines: CodeLines): ServedCode {
  const keeper = new UserCodeKeeper(keeperOptions(config, servedDir, lines.complain));
  const send = (to: string, message: unknown): void => host.send(to, message);
  const code = new ServedCode(keeper, { found: (message) => send(USER_CODE, message), ...lines });
  host.register({
    name: USER_CODE,
    start: ({ nowUs }, out) => {
      const discover = (): void => void code.discoverAgain();
      const actor = new UserCode({ process: keeper, nowUs, send, routes: () => code.routes, discover });
      actor.begin(out);
      return actor;
    },
  });
  return code;
}

/** Environment variables by which user code finds this server. */
export function userEnvironment(config: ServerConfig): Record<string, string> {
  return { MILLRACE_HOME: config.home, ...(config.token === null ? {} : { MILLRACE_TOKEN: config.token }) };
}

function keeperOptions(config: ServerConfig, servedDir: string, complain: (line: string) => void): KeeperOptions {
  return {
    dir: resolve(servedDir),
    env: { ...process.env, ...userEnvironment(config) },
    execArgv: process.execArgv,
    heapMb: config.userCodeHeapMb,
    blockedMs: BLOCKED_MS,
    print: (text) => process.stderr.write(text),
    complain,
  };
}
