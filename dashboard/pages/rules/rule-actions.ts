/** Actions on rules besides editing. */
import { signal } from "@preact/signals";
import type { RuleRow } from "#protocol/records/rule";
import { ask, messageOf } from "../../api/client.ts";
import { showToast } from "../../parts/toast.tsx";

/** Rules whose deletion can still be undone: lists hide them. */
export const leavingRules = signal<ReadonlySet<number>>(new Set());

function leave(id: number, leaves: boolean): void {
  const next = new Set(leavingRules.value);
  leaves ? next.add(id) : next.delete(id);
  leavingRules.value = next;
}

export async function setEnabled(rule: RuleRow, enabled: boolean): Promise<void> {
  try {
    await ask(`/api/rules/${rule.id}`, { method: "PATCH", body: { enabled } });
    showToast(enabled ? `${rule.name} fires again.` : `${rule.name} is off: it does not fire.`, {
      undo: () => void setEnabled(rule, !enabled),
    });
  } catch (cause) {
    showToast(`Not switched: ${messageOf(cause)}.`);
  }
}

/** Deletes a rule when the toast ends; until then the deletion can be undone. */
export function deleteRule(rule: RuleRow): void {
  leave(rule.id, true);
  showToast(`${rule.name} deleted, with its firings.`, {
    undo: () => leave(rule.id, false),
    commit: () => {
      ask(`/api/rules/${rule.id}`, { method: "DELETE", keepalive: true }).catch((cause: unknown) => {
        leave(rule.id, false);
        showToast(`Not deleted: ${messageOf(cause)}.`);
      });
    },
  });
}
