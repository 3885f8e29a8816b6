/** Prompts for the token of the server. Waiting requests continue once the token is given. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { giveToken, messageOf, tokenWanted } from "../api/client.ts";
import { Dialog } from "../parts/dialog.tsx";

export function TokenPrompt(): JSX.Element | null {
  return tokenWanted.value === null ? null : <Prompt first={tokenWanted.value} />;
}

function Prompt({ first }: { first: "missing" | "wrong" }): JSX.Element {
  const [problem, setProblem] = useState(first === "wrong" ? "The server does not know the token that was kept here." : "");
  const [trying, setTrying] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const text = new FormData(event.currentTarget as HTMLFormElement).get("token");
    if (typeof text !== "string" || text.trim() === "") return;
    setTrying(true);
    try {
      if (!(await giveToken(text.trim()))) setProblem("That is not the token of this server.");
    } catch (cause) {
      setProblem(`${messageOf(cause)}.`);
    }
    setTrying(false);
  };
  return (
    <Dialog label="Token" close={() => {}}>
      <form onSubmit={submit}>
        <h2>This server wants a token</h2>
        <p class="dialog-text">It was given when the server was started, and is kept in this browser.</p>
        <label class="stacked">
          Token
          <input class="field mono" name="token" type="password" autocomplete="current-password" autofocus required />
        </label>
        <p class="problem" role="alert">
          {problem}
        </p>
        <div class="row dialog-actions">
          <button type="submit" class="button primary push" disabled={trying}>
            Continue
          </button>
        </div>
      </form>
    </Dialog>
  );
}
