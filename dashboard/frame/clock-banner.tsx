/** The clock of the server's machine was set: what stays suspended until a person accepts the clock. */
import type { JSX } from "preact";
import type { ClockProblem } from "#protocol/records/server";
import { pagePath } from "#protocol/routes/dashboard-pages";
import { ask, messageOf } from "../api/client.ts";
import { offline } from "../live/link.ts";
import { askBack } from "../parts/dialog.tsx";
import { Banner } from "../parts/notice.tsx";
import { showToast } from "../parts/toast.tsx";

async function accept(refresh: () => void): Promise<void> {
  try {
    await ask("/api/clock/accept", { method: "POST" });
    refresh();
  } catch (error) {
    showToast(`The clock was not accepted: ${messageOf(error)}`);
  }
}

export function ClockBanner({
  problem,
  refresh,
}: {
  problem: ClockProblem | null | undefined;
  refresh: () => void;
}): JSX.Element | null {
  if (problem == null) return null;
  const { message, schedules, schedules_count } = problem;
  const question = {
    title: "Is the clock right now?",
    body: "What is older than the settings keep is deleted again, and what was decided ahead of the clock goes on from now.",
    confirm: "The clock is right",
    keep: "Leave it so",
    act: () => void accept(refresh),
  };
  return (
    <Banner
      token="late"
      actions={
        <button type="button" class="button" disabled={offline.value} onClick={() => askBack(question)}>
          {"The clock is right\u2026"}
        </button>
      }
    >
      <span role="status">{message.replaceAll("`", "")}</span>
      {schedules_count > 0 && schedules.length > 0 && (
        <>
          {" "}
          <a href={pagePath("schedules")}>Schedules</a>
        </>
      )}
    </Banner>
  );
}
