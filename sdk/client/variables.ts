/** `client.variables`: named JSON values that outlive runs. */
import type { Http } from "./http.ts";
import type { Loose, VariableBody, VariablePatch, VariableRow, VariableWithRaw } from "./records.ts";

/** With `overwrite` false (default true) an existing name is refused; without `secret` a secret stays secret. */
export type SetVariable = Loose<VariableBody> & Pick<VariableBody, "name" | "value">;

export class Variables {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** All variables, by name. The values of secrets are masked. */
  list(): Promise<VariableRow[]> {
    return this.#http.get<VariableRow[]>("/api/variables");
  }

  /** Creates or replaces a variable. @throws MillraceError 409 if it exists and overwrite is false; 422. */
  set(variable: SetVariable): Promise<VariableRow> {
    const repeatable = variable.overwrite !== false;
    return this.#http.json<VariableRow>("POST", "/api/variables", { body: variable, repeatable });
  }

  /** With `raw`, a secret includes its stored ciphertext. @throws MillraceError 404. */
  get(name: string, options: { raw?: boolean } = {}): Promise<VariableWithRaw> {
    return this.#http.get<VariableWithRaw>(pathOf(name), options.raw === true ? { raw: true } : {});
  }

  /** Changes the given fields; null keeps a field. @throws MillraceError 404, 422. */
  patch(name: string, patch: Loose<VariablePatch>): Promise<VariableRow> {
    return this.#http.json<VariableRow>("PATCH", pathOf(name), { body: patch, repeatable: true });
  }

  /** Removes a variable. @throws MillraceError 404. */
  async delete(name: string): Promise<void> {
    await this.#http.json<null>("DELETE", pathOf(name));
  }
}

/** A slash is part of the name, not of the path. */
function pathOf(name: string): string {
  return `/api/variables/${encodeURIComponent(name)}`;
}
