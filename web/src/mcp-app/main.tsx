import "./style.css";

import { render } from "preact";

import { AnswerApp } from "./answer-app";
import { Host } from "./host";

render(<AnswerApp host={new Host()} />, document.body);
