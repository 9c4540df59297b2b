const $ = (id) => document.getElementById(id);

// Events. The browser itself connects again when the stream ends.
const beats = [];
const events = new EventSource('events');
events.onopen = () => { $('stream').textContent = 'open'; };
events.onerror = () => { $('stream').textContent = 'connecting'; };
events.addEventListener('tick', (event) => {
  const tick = JSON.parse(event.data);
  $('clock').textContent = new Date(tick.time).toLocaleTimeString('en-GB');
  $('count').textContent = tick.count;
  $('watching').textContent = tick.watching;
  draw(performance.now());
});

// How regularly they come: the time since the one before.
let before = 0;
function draw(now) {
  if (before) beats.push(Math.min(now - before, 200));
  before = now;
  if (beats.length > 60) beats.shift();
  const points = beats.map((gap, i) => `${i * 300 / 59},${38 - gap * 36 / 200}`);
  $('beat').querySelector('polyline').setAttribute('points', points.join(' '));
}

// Chat.
let socket;
function show(text, from) {
  const line = document.createElement('li');
  if (from) {
    const name = document.createElement('span');
    name.className = 'from';
    name.textContent = from;
    line.append(name);
  } else {
    line.className = 'note';
  }
  line.append(text);
  $('lines').append(line);
  while ($('lines').children.length > 200) $('lines').firstChild.remove();
  $('lines').scrollTop = $('lines').scrollHeight;
}
function connect(wait = 500) {
  socket = new WebSocket(new URL('chat', location.href.replace(/^http/, 'ws')));
  socket.onopen = () => { wait = 500; $('say').lastElementChild.disabled = false; };
  socket.onmessage = (message) => {
    const [from, text] = message.data.split('\t', 2);
    if (text === undefined) show(from); else show(text, from);
  };
  socket.onclose = () => {
    $('say').lastElementChild.disabled = true;
    setTimeout(() => connect(Math.min(wait * 2, 8000)), wait);
  };
}
connect();
$('say').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = $('line').value.trim();
  if (!text || socket.readyState !== WebSocket.OPEN) return;
  socket.send(text);
  $('line').value = '';
});

// Requests.
async function ask(count) {
  const begun = performance.now();
  try {
    const all = await Promise.all(Array.from({ length: count }, () => fetch('api/request', { cache: 'no-store' })));
    const texts = await Promise.all(all.map((answer) => answer.text()));
    const time = performance.now() - begun;
    $('took').textContent = `${count} answered in ${time.toFixed(1)} ms`;
    $('answer').textContent = texts[texts.length - 1];
  } catch (error) {
    $('took').textContent = `failed: ${error.message}`;
  }
}
$('ask').onclick = () => ask(1);
$('ask-many').onclick = () => ask(100);
ask(1);
