import { createSignal } from "solid-js";
import { createComponent, escape, renderToString, renderToStringAsync, ssr } from "solid-js/web";

const template = ["<div>Count: ", "</div>"];
function App() {
  const [count] = createSignal(5);
  return ssr(template, escape(count()));
}

export default {
  fetch: async () => new Response(renderToString(() => createComponent(App, {})) +
    await renderToStringAsync(() => createComponent(App, {}))),
};
