/** The user code actor on the main thread, and the process it has called. */
import { resolve } from "node:path";
import { USER_CODE } from "#actors/names";
import { UserCode } from "#actors/user-code/shell";
import { RULE_CALL_MS_MAX } from "#protocol/limits";
import type { Host } from "#runtime/host";
import type { ServerConfig } from "../config.ts";
import { type KeeperOptions, UserCodeKeeper } from "./keeper.ts";
import { ServedCode } from "./served-code.ts";

/** User code may keep the event loop of its process for as long as one call of a rule may take. */
const BLOCKED_MS = RULE_CALL_MS_MAX;

export interface CodeLines {
  /** Takes one line about what went wrong. */
  complain(line: string): void;
  /** Takes one line about what went on. */
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

/** By what user code finds this server. */
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
