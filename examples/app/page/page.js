const at = (id) => document.getElementById(id);
const say = (id, text) => { at(id).textContent = text; };

// ---- live

const shown = 120;
const lateness = [];

function draw() {
  const top = Math.max(20, ...lateness);
  const points = lateness.map((late, index) =>
    `${(600 / (shown - 1)) * (shown - lateness.length + index)},${66 - (late / top) * 60}`);
  document.querySelector("#line polyline").setAttribute("points", points.join(" "));
  const first = points[0].split(",")[0];
  document.querySelector("#line .area").setAttribute("d", `M${first},70 L${points.join(" L")} L600,70 Z`);
}

function duration(ms) {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h`;
}

function setState(state) {
  at("state").dataset.state = state;
  say("state", state);
}

const events = new EventSource("events");
events.addEventListener("open", () => setState("live"));
events.addEventListener("error", () => setState("lost"));
events.addEventListener("tick", ({ data }) => {
  const tick = JSON.parse(data);
  lateness.push(tick.late);
  if (lateness.length > shown) lateness.shift();
  draw();
  say("requests", tick.requests);
  say("watching", tick.watching);
  say("late", `${tick.late} ms`);
  say("up", duration(tick.upMs));
});

// ---- the buttons

function whenClicked(id, act) {
  at(id).addEventListener("click", async () => {
    at(id).disabled = true;
    try {
      await act();
    } catch (error) {
      say(`${id}-outcome`, `${error.name}: ${error.message}`);
    } finally {
      at(id).disabled = false;
    }
  });
}

whenClicked("fan", async () => {
  at("bars").replaceChildren();
  say("fan-outcome", "asking …");
  const response = await fetch("api/fan-out");
  if (!response.ok) throw new Error(await response.text());
  const { answers, totalMs } = await response.json();
  at("bars").replaceChildren(...answers.map(({ ms, begin, end }) => {
    const row = document.createElement("li");
    const bar = document.createElement("i");
    bar.style.left = `${(begin / totalMs) * 84}%`;
    bar.style.width = `${((end - begin) / totalMs) * 84}%`;
    const label = document.createElement("span");
    label.textContent = `${ms} ms`;
    row.append(bar, label);
    return row;
  }));
  const sum = answers.reduce((all, { ms }) => all + ms, 0);
  say("fan-outcome", `${answers.length} answers in ${Math.round(totalMs)} ms; one after the other: ${sum} ms`);
});

whenClicked("burn", async () => {
  say("burn-outcome", "burning …");
  const begun = performance.now();
  const response = await fetch("api/burn");
  const text = (await response.text()).split("\n")[0];
  say("burn-outcome", `stopped after ${Math.round(performance.now() - begun)} ms: ${response.status} ${text}`);
});

whenClicked("hang-up", async () => {
  say("hang-up-outcome", "waiting …");
  const before = (await (await fetch("api/counts")).json()).hungUp;
  await fetch("api/patience", { signal: AbortSignal.timeout(500) }).catch(() => {});
  for (let tries = 0; tries < 40; ++tries) {
    const { hungUp } = await (await fetch("api/counts")).json();
    if (hungUp > before) {
      say("hang-up-outcome", `the handler was told; ${hungUp} have hung up so far`);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  say("hang-up-outcome", "the handler was not told");
});

// ---- rows

async function showNotes() {
  const response = await fetch("api/notes");
  if (!response.ok) throw new Error(await response.text());
  at("notes").replaceChildren(...(await response.json()).map(({ id, text, at: when }) => {
    const row = document.createElement("li");
    row.textContent = `${id}. ${text}`;
    row.title = when;
    return row;
  }));
}

at("note").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  try {
    const body = JSON.stringify({ text: new FormData(form).get("text") });
    const response = await fetch("api/notes", { method: "POST", body });
    if (!response.ok) throw new Error(await response.text());
    form.reset();
    say("note-outcome", "kept");
    await showNotes();
  } catch (error) {
    say("note-outcome", `${error.name}: ${error.message}`);
  }
});
showNotes().catch((error) => say("note-outcome", `${error.name}: ${error.message}`));
