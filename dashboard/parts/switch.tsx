/** A switch that takes effect at once. */
import type { JSX } from "preact";

export function Switch({
  label,
  on,
  change,
  disabled = false,
}: {
  label: string;
  on: boolean;
  change: (on: boolean) => void;
  disabled?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      class="switch"
      role="switch"
      aria-checked={on}
      aria-label={label}
      disabled={disabled}
      onClick={() => change(!on)}
    >
      <i aria-hidden="true" />
    </button>
  );
}
