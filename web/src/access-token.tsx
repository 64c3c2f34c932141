// The field for the access token of a deployment. The token stays in the memory of the page.

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button, Field } from "./components";
import { NOT_SENDABLE, isHeaderText } from "./header-text";
import { loadStart } from "./start-info";
import { announce } from "./announce";
import { accessToken } from "./state";

export function AccessToken(): JSX.Element {
  const [text, setText] = useState(accessToken.peek());
  const use = (event: Event) => {
    event.preventDefault();
    if (!isSendable) return;
    accessToken.value = text.trim();
    announce(accessToken.value ? "The access token is used for every request." : "No access token is sent.");
    void loadStart();
  };
  const isSendable = isHeaderText(text.trim());
  return (
    <form class="inline-form" onSubmit={use}>
      <Field label="Access token" hint="Kept in this page's memory until it is closed." error={isSendable ? "" : NOT_SENDABLE}>
        {(ids) => <input {...ids} type="password" autocomplete="off" value={text} onInput={(event) => setText(event.currentTarget.value)} />}
      </Field>
      <Button type="submit">Use</Button>
    </form>
  );
}
