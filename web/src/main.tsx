import "./styles/index.css";

import { render } from "preact";

import { App } from "./app";
import { startRouter } from "./router";
import { loadStart } from "./start-info";
import { applyTheme } from "./theme";

applyTheme();
startRouter();
void loadStart();
const root = document.getElementById("app");
if (root) render(<App />, root);
