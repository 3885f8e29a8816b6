/** Entry of the dashboard. */
import { render } from "preact";
import { startClock } from "./format/now.ts";
import { App } from "./frame/app.tsx";
import { loadPage } from "./frame/current-page.tsx";
import { startKeys } from "./input/keys.ts";
import { startLink } from "./live/link.ts";
import { startRouter } from "./router/router.ts";
import { applyTheme } from "./state/theme.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/controls.css";
import "./styles/state.css";
import "./styles/floating.css";
import "./styles/parts.css";

applyTheme();
startRouter();
startKeys();
startClock();
startLink();
loadPage();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
