/** Layout components of every page: title, section, facts, segments. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { withMarksShown } from "../format/marks.ts";

interface Content {
  children?: ComponentChildren;
}

/** The title line of a page: heading, details, and actions at the right. Also sets the document title. */
export function PageTitle({
  title,
  beside,
  actions,
}: {
  title: string;
  beside?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${withMarksShown(title)} \u00b7 Millrace`;
  }, [title]);
  return (
    <div class="title">
      <h1>{title}</h1>
      {beside}
      {actions && <div class="push row wrap actions">{actions}</div>}
    </div>
  );
}

/** A heading over a strong line, with its content. */
export function Section({
  title,
  note,
  actions,
  children,
}: Content & { title: string; note?: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <section class="section">
      <div class="head">
        <h2>{title}</h2>
        {note !== undefined && <span class="meta faint">{note}</span>}
        {actions && <div class="push row">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** Names over values in one line. Facts without a value are omitted. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren] | null)[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts
        .filter((fact) => fact !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** A key, shown beside the control it triggers. */
export function Key({ name }: { name: string }): JSX.Element {
  return <kbd>{name}</kbd>;
}

/** An id in groups of three: "#918 204", copied without the gaps. */
export function RunNumber({ id }: { id: number }): JSX.Element {
  const groups = String(id).split(/(?=(?:\d{3})+$)/);
  return (
    <span class="number">
      #
      {groups.map((group, index) => (
        <span key={index}>{group}</span>
      ))}
    </span>
  );
}

/** A choice of a few options, all visible. */
export function Segments<T extends string>({
  label,
  options,
  chosen,
  choose,
}: {
  label: string;
  options: readonly (readonly [value: T, text: string])[];
  chosen: T;
  choose: (value: T) => void;
}) {
  return (
    <fieldset class="segments">
      <legend class="sr">{label}</legend>
      {options.map(([value, text]) => (
        <button type="button" key={value} aria-pressed={value === chosen} onClick={() => choose(value)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}

/** A select with the look of a button. */
export function Select<T extends string>({
  label,
  options,
  chosen,
  choose,
}: {
  label: string;
  options: readonly (readonly [value: T, text: string])[];
  chosen: T;
  choose: (value: T) => void;
}) {
  return (
    <select class="field select" aria-label={label} value={chosen} onChange={(event) => choose(event.currentTarget.value as T)}>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** Tabs whose choice is in the address. The caller renders the panel below. */
export function Tabs({
  tabs,
  chosen,
  href,
}: {
  tabs: readonly { id: string; name: string; count?: number | undefined }[];
  chosen: string;
  href: (id: string) => string;
}) {
  const line = useRef<HTMLElement>(null);
  // In a narrow window the line of tabs scrolls on its own.
  useEffect(() => {
    const tab = line.current?.querySelector<HTMLElement>("[aria-current]");
    if (!line.current || !tab) return;
    const { offsetLeft, clientWidth } = line.current;
    line.current.scrollLeft = tab.offsetLeft - offsetLeft - (clientWidth - tab.offsetWidth) / 2;
  }, [chosen]);
  return (
    <nav class="tabs" aria-label="Parts of this page" ref={line}>
      {tabs.map(({ id, name, count }) => (
        <a key={id} href={href(id)} aria-current={id === chosen ? "page" : undefined}>
          {name}
          {count !== undefined && <span>{count.toLocaleString("en-US")}</span>}
        </a>
      ))}
    </nav>
  );
}
