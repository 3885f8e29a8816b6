/** The list of keyboard shortcuts (`?`), with the switch that turns single-letter keys off. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Dialog } from "../parts/dialog.tsx";
import { boundKeys, keyText, singleKeys, switchSingleKeys } from "./keys.ts";

export const keyListOpen = signal(false);

export function openKeyList(): void {
  keyListOpen.value = true;
}

export function KeyList(): JSX.Element {
  const groups = useMemo(boundKeys, []);
  const close = () => {
    keyListOpen.value = false;
  };
  return (
    <Dialog label="Keys" close={close}>
      <h2>Keys</h2>
      <div class="key-groups">
        {groups.map(({ group, bindings }) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {bindings.map(({ keys, does }) => (
                <div key={keys}>
                  <dt>
                    <kbd>{keyText(keys)}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <div class="row dialog-actions">
        <label class="row check">
          <input type="checkbox" checked={singleKeys.value} onChange={switchSingleKeys} />
          Keys of a single character are on
        </label>
        <button type="button" class="button push" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
