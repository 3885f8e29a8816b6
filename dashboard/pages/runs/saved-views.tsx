/** Saved views of the runs: one click each, saved from the current filters, removed with an undo. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog.tsx";
import { Segments } from "../../parts/layout.tsx";
import { showToast } from "../../parts/toast.tsx";
import { allParams, navigate } from "../../router/router.ts";
import { forgetView, type SavedView, savedViews, saveView, VIEWS_MAX, viewQuery } from "../../state/saved-views.ts";

function addressOf(query: string): string {
  return query === "" ? "/runs" : `/runs?${query}`;
}

function forget(view: SavedView): void {
  forgetView(view.name);
  showToast(`The view ${view.name} is forgotten.`, { undo: () => saveView(view) });
}

export function SavedViews(): JSX.Element | null {
  const [asking, setAsking] = useState(false);
  const views = savedViews.value;
  const query = viewQuery(allParams());
  const current = views.find((view) => view.query === query);
  if (views.length === 0 && query === "") return null;
  const options = [["", "All"] as const, ...views.map(({ name, query: of }) => [of, name] as const)];
  return (
    <>
      {views.length > 0 && (
        <Segments label="Saved views" options={options} chosen={query} choose={(chosen) => navigate(addressOf(chosen))} />
      )}
      {current !== undefined && (
        <button type="button" class="button quiet" onClick={() => forget(current)}>
          Forget view
        </button>
      )}
      {current === undefined && query !== "" && views.length < VIEWS_MAX && (
        <button type="button" class="button quiet" onClick={() => setAsking(true)}>
          {"Save view\u2026"}
        </button>
      )}
      {asking && <SaveDialog query={query} close={() => setAsking(false)} />}
    </>
  );
}

function SaveDialog({ query, close }: { query: string; close: () => void }): JSX.Element {
  const [name, setName] = useState("");
  const taken = savedViews.value.some((view) => view.name === name.trim());
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (name.trim() === "") return;
    saveView({ name: name.trim(), query });
    close();
  };
  return (
    <Dialog label="Save view" close={close}>
      <form onSubmit={submit}>
        <h2>Save this view</h2>
        <p class="dialog-text">Its filters and order, kept in this browser.</p>
        <label class="stacked">
          Name
          <input
            class="field"
            type="text"
            value={name}
            maxLength={24}
            required
            autofocus
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <span class="faint">{taken ? "There is a view called so; it is replaced." : "At most 24 letters."}</span>
        </label>
        <div class="row dialog-actions">
          <button type="button" class="button" onClick={close}>
            Close
          </button>
          <button type="submit" class="button primary">
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}
