/** Settings kept in this browser: theme, zone, keys and the token. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { forgetToken, hasToken } from "../../api/client.ts";
import { LOCAL_ZONE, switchZone, zone } from "../../format/time.ts";
import { singleKeys, switchSingleKeys } from "../../input/keys.ts";
import { Section, Segments } from "../../parts/layout.tsx";
import { Switch } from "../../parts/switch.tsx";
import { showToast } from "../../parts/toast.tsx";
import { chooseTheme, theme } from "../../state/theme.ts";

export function Browser(): JSX.Element {
  return (
    <Section title="This browser">
      <ul class="rows settings-choices">
        <li>
          <span>Theme</span>
          <Segments
            label="Theme"
            options={[
              ["system", "As the system"],
              ["light", "Light"],
              ["dark", "Dark"],
            ]}
            chosen={theme.value}
            choose={chooseTheme}
          />
        </li>
        <li>
          <span>Times in</span>
          <Segments
            label="Times in"
            options={[
              ["local", LOCAL_ZONE],
              ["utc", "UTC"],
            ]}
            chosen={zone.value}
            choose={(choice) => choice !== zone.value && switchZone()}
          />
        </li>
        <li>
          <span>Single keys</span>
          <span class="row">
            <Switch label="Single keys" on={singleKeys.value} change={switchSingleKeys} />
            <span class="faint">{singleKeys.value ? "j, k, g r and the like act" : "off; Ctrl K, Enter and Esc still act"}</span>
          </span>
        </li>
        <li>
          <span>Token</span>
          <Token />
        </li>
      </ul>
    </Section>
  );
}

function Token(): JSX.Element {
  const [kept, setKept] = useState(hasToken);
  const forget = () => {
    forgetToken();
    setKept(false);
    showToast("Token forgotten. The server asks for it at the next request, if it wants one.");
  };
  if (!kept) return <span class="dim">none is kept: the server did not ask for one</span>;
  return (
    <span class="row">
      <span>one is kept here and sent with every request</span>
      <button type="button" class="button small" onClick={forget}>
        Forget it
      </button>
    </span>
  );
}
