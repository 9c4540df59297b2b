import { h } from "preact";
import { useState } from "preact/hooks";
import { render, renderToStringAsync } from "preact-render-to-string";

function App({ name }) {
  const [count] = useState(3);
  return h("div", { class: "x" }, "Hello ", name, count);
}

export default {
  fetch: async () => new Response(
    render(h(App, { name: "P<" })) + await renderToStringAsync(h(App, { name: "Q" }))),
};
