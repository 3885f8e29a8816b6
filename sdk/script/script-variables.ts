import { clientHome } from "../client/local-server.ts";
import { ServerVariables, type SetVariableOptions, type VariableStore } from "../run/variable-store.ts";
import { withHomeServer } from "./home-server.ts";

/** Variables outside a run: those of the home. */
export class ScriptVariables implements VariableStore {
  get(name: string): Promise<{ value: unknown } | null> {
    return use((variables) => variables.get(name));
  }

  set(name: string, value: unknown, options: SetVariableOptions): Promise<void> {
    return use((variables) => variables.set(name, value, options));
  }

  remove(name: string): Promise<boolean> {
    return use((variables) => variables.remove(name));
  }
}

function use<T>(work: (variables: VariableStore) => Promise<T>): Promise<T> {
  return withHomeServer(({ client }) => work(new ServerVariables(() => Promise.resolve(client), clientHome())));
}
