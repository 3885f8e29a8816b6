/** One rule: its editor, its actions if it fired now, its expectations and its firings. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { RuleRow } from "#protocol/records/rule";
import { useQuery } from "../../api/query.ts";
import { counted } from "../../format/number.ts";
import { fullTime } from "../../format/time.ts";
import { Facts, PageTitle } from "../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { Switch } from "../../parts/switch.tsx";
import { navigate } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import type { PageProps } from "../pages.ts";
import { deleteRule, setEnabled } from "./rule-actions.ts";
import { RuleForm } from "./rule-form.tsx";
import { Expectations, Firings } from "./rule-history.tsx";
import { RuleTestPanel } from "./rule-test.tsx";
import { whenText } from "./rule-words.ts";
import "./rules.css";
import { offline } from "../../live/link.ts";

export function Page({ id }: PageProps): JSX.Element {
  const query = useQuery<RuleRow>(`/api/rules/${id}`, { live: { "rule.updated": (rule) => rule.id === id } });
  const { data: rule, error } = query;
  if (error?.status === 404)
    return (
      <Empty title={`There is no rule ${id}`}>
        It was deleted. <a href="/rules">All rules</a>
      </Empty>
    );
  if (rule === null) return error === null ? <Loading /> : <Failure what="The rule" error={error} again={query.refresh} />;
  return <Loaded rule={rule} refresh={query.refresh} />;
}

function Loaded({ rule, refresh }: { rule: RuleRow; refresh: () => Promise<void> }): JSX.Element {
  const [dirty, setDirty] = useState(false);
  // Changes by other people show at once, unless the rule is being edited here.
  const shown = useRef(rule.updated_at);
  if (!dirty) shown.current = rule.updated_at;
  return (
    <>
      <nav class="crumb" aria-label="Place">
        <a href="/rules">Rules</a>
        <span aria-hidden="true">/</span>
        <span>{rule.source === "code" ? "from code" : "made here"}</span>
      </nav>
      <PageTitle title={rule.name} actions={<Actions rule={rule} />} />
      <p class="sub rule-when">{whenText(rule)}</p>
      <Facts
        facts={[
          ["Fired", counted(rule.fire_count, "time")],
          ["Last fired", rule.last_fired == null ? "never" : fullTime(rule.last_fired)],
          ["Changed", fullTime(rule.updated_at)],
          rule.module == null ? null : ["Module", <span class="mono">{rule.module}</span>],
        ]}
      />
      <div class="rule-two">
        <RuleForm key={shown.current} rule={rule} changed={setDirty} saved={() => void refresh()} />
        <div class="rule-side">
          <RuleTestPanel rule={rule} dirty={dirty} />
          {rule.unless != null && <Expectations rule={rule} />}
          <Firings rule={rule} />
        </div>
      </div>
    </>
  );
}

function Actions({ rule }: { rule: RuleRow }): JSX.Element {
  const remove = () => {
    deleteRule(rule);
    navigate("/rules");
  };
  return (
    <>
      <span class="row">
        <Switch
          label={`${rule.name} fires`}
          on={rule.enabled}
          disabled={offline.value}
          change={(on) => void setEnabled(rule, on)}
        />
        <span class={rule.enabled ? "" : "faint"}>{rule.enabled ? "on" : "off"}</span>
      </span>
      {rule.source === "code" ? (
        <span class="row meta faint">
          <Glyph name="lock" /> from code
        </span>
      ) : (
        <button type="button" class="button danger" disabled={offline.value} onClick={remove}>
          Delete
        </button>
      )}
    </>
  );
}
