// The operator's monitor: draws the whole state that each message brings, and sends what is pressed.

import { connect } from "./socket.js";

const SHORTEST = 500; // ms between two drawings
const TRIALS = 12; // in the list
const KINDS = {
  rehearsal: ["rehearsal", "A simulated person in a simulated scanner"],
  session: ["session", "A person in a scanner"],
  simulation: ["simulation", "Everything is simulated in this computer"],
  recording: ["recording", "Volumes that were recorded earlier"],
};
const PHASES = {
  ready: "Ready to start", waiting: "Waiting for the scanner", running: "Running", paused: "Paused",
  over: "The session has ended", stopped: "Stopped",
};
const STOPS = {
  session: "Ends the session now. What was recorded is kept, and the session can be resumed.",
  rehearsal: "Ends the rehearsal now. It is then not complete, and can be neither resumed nor reported.",
  simulation: "Ends the simulation now. It can be resumed.",
  recording: "Ends playing. The recording stays as it is.",
};
const VERDICTS = { trust: "Trust", doubtful: "Doubtful", "do not use": "Do not use", "too early": "Too early" };
const CONNECTIONS = { connecting: "Connecting", open: "Connected", lost: "Connection lost", ended: "The session has ended" };

let state = null;
let arrival = 0; // performance.now() of the last message
let connection = "connecting";
let timer = null;
let drawn = -Infinity;

const $ = (id) => document.getElementById(id);
const percent = (share) => `${Math.round(100 * share)} %`;
const signed = (value, digits) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;

function say(element, words) {
  const text = String(words ?? "");
  if (element.textContent !== text) element.textContent = text;
}
const tell = (id, words) => say($(id), words);
const show = (id, visible) => { $(id).hidden = !visible; };
const width = (element, share) => { element.style.width = `${100 * Math.min(1, Math.max(0, share))}%`; };
const left = (element, share) => { element.style.left = `${100 * Math.min(1, Math.max(0, share))}%`; };

// Rows are kept and refilled, never made anew, so that a focused button stays focused.
function fillRows(list, template, items, key, fill) {
  const old = new Map([...list.children].map((row) => [row.dataset.key, row]));
  const rows = items.map((item, k) => {
    const name = key(item, k);
    const row = old.get(name) ?? $(template).content.firstElementChild.cloneNode(true);
    row.dataset.key = name;
    fill(row, item, k);
    return row;
  });
  const kept = new Set(rows);
  for (const row of old.values()) if (!kept.has(row)) row.remove();
  rows.forEach((row, k) => { if (list.children[k] !== row) list.insertBefore(row, list.children[k] ?? null); });
}

// ---- header

const can = (command) => connection === "open" && Boolean(state?.controls?.includes(command));
const thisTrial = () => state.guesses?.find((guess) => guess.run === state.run && guess.trial === state.trial);

function drawControls() {
  for (const name of ["start", "pause", "continue", "stop", "bad", "truth"]) {
    $(name).disabled = !can(name);
    show(name, Boolean(state?.controls?.includes(name)));
  }
  const marked = Boolean(state) && thisTrial()?.left_out === "marked bad";
  $("bad").setAttribute("aria-pressed", marked);
  if (state?.trial) tell("bad", `${marked ? "Take back the mark of" : "Mark"} trial ${state.trial}${marked ? "" : " bad"}`);
  $("truth").setAttribute("aria-pressed", Boolean(state?.truth_shown));
  if (!can("stop") && $("stop-dialog").open) $("stop-dialog").close();
}

function drawConnection() {
  // Nothing is wrong with a server that left after the end. A stopped session may be resumed: the page waits for it.
  const gone = connection !== "open" && ["over", "stopped"].includes(state?.phase);
  document.body.dataset.connection = gone ? "ended" : connection;
  const waits = gone && state.phase === "stopped" && state.kind === "session";
  tell("connection", waits ? "Waits for the session to be resumed" : CONNECTIONS[gone ? "ended" : connection]);
  const ago = state ? Math.round((performance.now() - arrival) / 1000) : 0;
  const silent = connection === "open" && state?.phase === "running" && ago > Math.max(10, (5 * state.tr) / state.speed);
  const lost = connection === "lost" && !gone;
  show("stale", lost || silent);
  if (lost) tell("stale", `Connection lost; trying again every second.${state ? ` What you see is ${clock(ago)} min old.` : ""}`);
  if (silent) tell("stale", `Nothing new for ${clock(ago)} min.`);
}

function drawClocks() {
  drawConnection();
  if (!state) return;
  const speed = state.speed || 1;
  const running = state.phase === "running" && connection === "open";
  const passed = running ? ((performance.now() - arrival) / 1000) * speed : 0;
  const elapsed = state.elapsed === null ? null : Math.min(state.length, state.elapsed + passed);
  const share = elapsed === null || !state.length ? 0 : elapsed / state.length;
  width($("progress-bar"), share);
  $("progress").setAttribute("aria-valuenow", Math.round(100 * share));
  tell("run-clock", state.length ? `${clock((elapsed ?? 0) / speed)} of ${clock(state.length / speed)}` : "");
  tell("run-left", state.length ? clock((state.length - (elapsed ?? 0)) / speed) : "–");
  tell("time-left", state.seconds_left === null ? "–" : clock((state.seconds_left - passed) / speed));
}

function drawHeader() {
  tell("protocol", state.protocol);
  const [kind, explanation] = KINDS[state.kind] ?? [state.kind, ""];
  tell("kind", kind);
  $("kind").title = explanation;
  show("kind", Boolean(kind));
  tell("session", { train: "training", test: "test" }[state.session] ?? state.session);
  $("session").title = state.session === "test" ? "What was learned is tested on these runs" : "The learner learns from these runs";
  show("session", Boolean(state.session));
  tell("stop-words", STOPS[state.kind]);
  $("stop").title = STOPS[state.kind] ?? "";
  tell("speed", `${state.speed}x speed`);
  show("speed", state.speed !== 1 && state.speed !== null);
  document.body.dataset.phase = state.phase;
  tell("phase", state.kind === "recording" && state.phase === "over" ? "Played to the end" : PHASES[state.phase] ?? state.phase);
  const lost = state.phase === "paused" && state.trial && ["session", "rehearsal"].includes(state.kind);
  const note = lost ? "Nothing is shown. The scanner goes on: trials are lost until you continue." : state.note;
  tell("note", note);
  $("note").title = note ?? "";
  tell("run", `${state.run ?? "–"} of ${state.runs ?? "–"}`);
  tell("trial", `${state.trial || "–"} of ${state.trials ?? "–"}`);
  tell("now", state.now?.words || "–");
  $("now").title = state.now?.words ?? "";
  $("now").dataset.kind = state.now?.kind ?? "";
  tell("alarm", state.alarm);
  show("alarm", Boolean(state.alarm));
  document.title = `${state.alarm ? "ALARM · " : ""}${PHASES[state.phase] ?? state.phase} · ${state.protocol}`;
}

// ---- scanner

function drawScanner() {
  const volumes = state.volumes;
  tell("volumes-arrived", volumes?.arrived ?? 0);
  tell("volumes-due", volumes?.due ?? "–");
  tell("volumes-late", volumes?.late ?? 0);
  tell("volumes-lost", volumes?.lost ?? 0);
  $("volumes-late").parentElement.classList.toggle("some", volumes?.late > 0);
  $("volumes-lost").parentElement.classList.toggle("some", volumes?.lost > 0);
  show("delay-hint", !volumes?.status);
  show("signal-hint", !state.signal?.length);
  show("legend-unseen", Boolean(state.events?.some((event) => event.seen === false)));

  const last = (rows) => rows?.findLast((row) => row);
  const [shift, turn] = [last(state.movement?.translation), last(state.movement?.rotation)];
  const three = (values) => values.map((value) => signed(value, 2)).join(", ");
  tell("shift", shift ? `shift (x, y, z) ${three(shift)} mm` : "");
  tell("turn", turn ? `turn ${three(turn)}°` : "");
  tell("movement-hint", state.movement || !state.volumes?.arrived ? "Movement appears with the second volume" : "Not realigned: movement is not measured");
  show("movement-hint", !state.movement?.displacement?.some((value) => value !== null));
  $("movement-chart").classList.toggle("off", !state.movement);
}

function drawScreen() {
  const screen = state.screen;
  // Before a run nobody knows yet whether the person will look at a page.
  const soon = ["ready", "waiting"].includes(state.phase) && ["session", "rehearsal"].includes(state.kind);
  const used = screen && (screen.used || soon);
  const shown = !used ? "unused" : !screen.pages ? "closed" : !screen.visible ? "hidden" : "open";
  tell("screen", shown === "unused" ? "not used" : shown);
  $("screen").dataset.shown = shown;
  const words = [];
  if (shown === "unused") words.push("This session shows nothing on a screen of its own");
  if (shown === "closed") words.push("Open the link below on the participant's screen");
  if (shown === "hidden") words.push("The page is behind another window or tab");
  if (used && screen.pages > 1) words.push(`${screen.pages} pages are open`);
  if (shown === "open" && screen.keys && !screen.focused) words.push("Click into the page: keys go to another window now");
  if (used && screen.frame_rate) words.push(`${screen.frame_rate.toFixed(1)} frames a second`);
  if (used && screen.onset_error) words.push(`onset error ${screen.onset_error[0].toFixed(1)} ms (at most ${screen.onset_error[1].toFixed(1)} ms)`);
  tell("screen-words", words.join(", "));
  const link = $("screen-link");
  const safe = /^https?:\/\//.test(screen?.link ?? "");
  link.hidden = !safe;
  if (safe) link.href = screen.link;
  say(link, safe ? screen.link : "");
}

function drawWarnings() {
  const warnings = state.warnings ?? [];
  fillRows($("warnings"), "warning-row", [...warnings].reverse(), (item, k) => String(k), (row, warning) => {
    say(row.querySelector("time"), `run ${warning.run ?? "–"}, ${warning.seconds === null ? "–" : clock(warning.seconds)}`);
    say(row.querySelector("span"), warning.words);
  });
  show("warnings-hint", !warnings.length);
  tell("warnings-count", warnings.length ? "newest first" : "");
}

// ---- guesses

function drawGuess() {
  // A trial that is left out before its guess has none.
  const guess = state.guesses?.filter((each) => each.option !== null).at(-1);
  show("guess-hint", !guess);
  $("guess").closest(".guess").hidden = !guess;
  tell("guess", guess?.option ?? "–");
  $("guess").classList.toggle("long", (guess?.option.length ?? 0) > 4);
  tell("guess-trial", guess ? `run ${guess.run}, trial ${guess.trial}` : "");
  const words = [];
  if (guess) {
    words.push(guess.catch ? "catch trial: its match rate is known" : guess.explored ? "drawn at random" : "chosen by what was learned");
    if (guess.propensity !== null) words.push(`shown with probability ${percent(guess.propensity)}`);
    if (!state.blinded && !guess.probabilities) words.push("nothing decoded yet");
  }
  tell("guess-words", `${words.join(", ")}${guess && state.blinded ? ". Blinded: results are not shown" : ""}`);
  const options = guess ? state.options : [];
  fillRows($("options"), "option-row", options, (item, k) => String(k), (row, option, k) => {
    const share = guess.probabilities?.[k];
    say(row.querySelector(".name"), option);
    row.querySelector(".name").title = option;
    width(row.querySelector(".fill"), share ?? 0);
    say(row.querySelector("b"), share === undefined ? "–" : percent(share));
    row.classList.toggle("chosen", option === guess.option);
  });
}

function fillTrial(row, guess) {
  const judged = guess.match !== null && guess.match !== undefined;
  const match = judged && guess.match >= 0.5;
  const marked = guess.left_out === "marked bad";
  row.dataset.run = guess.run;
  row.dataset.trial = guess.trial;
  row.classList.toggle("out", Boolean(guess.left_out));
  say(row.querySelector(".number"), `${guess.run}·${guess.trial}`);
  say(row.querySelector(".option b"), guess.option);
  row.querySelector(".option b").title = guess.option ?? "";
  row.querySelector(".option .tag").hidden = !guess.catch;
  row.querySelector(".judged").dataset.judged = judged ? (match ? "match" : "mismatch") : "";
  width(row.querySelector(".judged .fill"), judged ? (match ? guess.match : 1 - guess.match) : 0);
  const words = judged ? `${match ? "match" : "mismatch"} ${percent(match ? guess.match : 1 - guess.match)}` : state.blinded ? "blinded" : ["over", "stopped"].includes(state.phase) ? "not known" : "not yet";
  say(row.querySelector(".judged span"), words);
  say(row.querySelector(".left-out"), guess.left_out && `left out: ${guess.left_out}`);
  row.querySelector(".left-out").hidden = !guess.left_out;
  const truth = row.querySelector(".truth");
  const right = judged && match === (guess.truth === guess.option);
  say(truth, guess.truth === null || guess.truth === undefined ? "" : `${judged ? (right ? "✓ " : "✗ ") : ""}${guess.truth}`);
  truth.title = guess.truth ?? "";
  const button = row.querySelector("button");
  button.disabled = !can("bad") || guess.run !== state.run; // a run that is written stays as it is
  button.setAttribute("aria-pressed", marked);
  button.title = marked ? "Take the mark back: learn from this trial" : "Mark this trial bad: it is kept, but left out of learning";
  button.setAttribute("aria-label", `${marked ? "Take back the mark of" : "Mark as bad"} trial ${guess.trial} of run ${guess.run}`);
}

function drawTrials() {
  const guesses = (state.guesses ?? []).slice(-TRIALS).reverse();
  document.body.classList.toggle("truth-shown", Boolean(state.truth_shown));
  document.body.classList.toggle("blinded", Boolean(state.blinded));
  fillRows($("trials"), "trial-row", guesses, (guess) => `${guess.run}-${guess.trial}`, fillTrial);
  const early = !state.blinded && state.learning?.verdict !== "trust";
  tell("trials-order", early ? "newest first; judgments are shown once the verdict is Trust" : "newest first");
  show("trials-hint", !guesses.length);
  $("trials").closest("table").hidden = !guesses.length;
}

// ---- learning

function drawVerdict() {
  const learning = state.learning;
  show("learning", Boolean(learning));
  show("learning-hint", !learning);
  tell("learning-hint", state.blinded ? "Blinded: results are not shown" : "The verdict comes after some trials");
  tell("learner", learning ? `${learning.learner} · ${learning.trials} trials` : "");
  if (!learning) return;
  const known = learning.verdict in VERDICTS ? learning.verdict : "too early";
  $("verdict").dataset.verdict = learning.verdict;
  $("verdict-shape").setAttribute("href", `#shape-${known.replaceAll(" ", "-")}`);
  tell("verdict-name", VERDICTS[learning.verdict] ?? learning.verdict);
  tell("verdict-words", learning.words);
  const rate = learning.match_rate;
  tell("match-rate", rate === null ? "–" : percent(rate));
  tell("chance", `chance ${percent(learning.chance)}`);
  width($("match-gauge").querySelector(".fill"), rate ?? 0);
  left($("match-gauge").querySelector(".mark"), learning.chance);
  const accuracy = learning.accuracy;
  tell("accuracy", accuracy ? percent(accuracy[0]) : "–");
  tell("accuracy-range", accuracy ? `${Math.round(100 * accuracy[1])} to ${percent(accuracy[2])}` : "cannot be said yet");
  const [range, dot] = $("accuracy-gauge").children;
  range.hidden = dot.hidden = !accuracy;
  if (accuracy) {
    left(range, accuracy[1]);
    width(range, accuracy[2] - accuracy[1]);
    left(dot, accuracy[0]);
  }
  const truth = learning.true_accuracy;
  show("true-accuracy", truth !== null && truth !== undefined);
  tell("true-accuracy", truth === null || truth === undefined ? "" : `True accuracy: ${percent(truth)}`);
  show("learning-chart-hint", !learning.history?.length);
}

// ---- drawing

function drawCharts() {
  if (!state) return;
  drawSignal($("signal-chart"), state);
  if (state.movement) drawMovement($("movement-chart"), state);
  drawStrip($("strip"), state.volumes);
  drawDelay($("delay-chart"), state);
  if (state.learning) drawLearning($("learning-chart"), state.learning);
}

function draw() {
  timer = null;
  drawn = performance.now();
  drawControls();
  drawClocks();
  if (!state) return;
  drawHeader();
  drawScanner();
  drawScreen();
  drawWarnings();
  drawGuess();
  drawTrials();
  drawVerdict();
  drawCharts();
}

function drawSoon() {
  timer ??= setTimeout(draw, Math.max(0, drawn + SHORTEST - performance.now()));
}

// ---- charts: each draws one canvas from numbers, once, when it is asked to

const PAST = 150; // seconds of scanner time to be seen
const AHEAD = 10; // and what is planned after them
const LIMIT = 0.5; // mm of framewise displacement that is usually taken as too much
const LEFT = 3.4; // width of the axis in em, the same in all charts over time, so that they line up
const RIGHT = 0.6;
const SHAPES = { trust: "circle", doubtful: "triangle", "do not use": "cross", "too early": "ring" };

let palette = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["text", "muted", "grid", "panel", "imagination", "perception", "judgment", "expected", "accent", "volume",
    "late", "lost", "waiting", "trust", "doubtful", "do-not-use", "too-early"];
  palette = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

const clock = (seconds) => {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
};

// A canvas with as many pixels as the screen has, drawn in CSS pixels.
function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const style = getComputedStyle(canvas);
  const em = parseFloat(style.fontSize);
  pen.font = `${em}px ${style.fontFamily}`;
  pen.lineJoin = "round";
  return { pen, width, height, em };
}

function steps(low, high, about) {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9; k += 1) ticks.push(k * step);
  return { ticks, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

function write(pen, words, x, y, { colour = palette.muted, align = "left", base = "middle", halo = false } = {}) {
  pen.textAlign = align;
  pen.textBaseline = base;
  if (halo) {
    pen.strokeStyle = palette.panel;
    pen.lineWidth = 4;
    pen.strokeText(words, x, y);
  }
  pen.fillStyle = colour;
  pen.fillText(words, x, y);
}

function shorten(pen, words, room) {
  if (pen.measureText(words).width <= room) return words;
  let kept = words.slice(0, 40);
  while (kept && pen.measureText(`${kept}…`).width > room) kept = kept.slice(0, -1);
  return kept && `${kept}…`;
}

function level(pen, x0, x1, y, colour, dash = []) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.setLineDash(dash);
  pen.beginPath();
  pen.moveTo(x0, Math.round(y) + 0.5);
  pen.lineTo(x1, Math.round(y) + 0.5);
  pen.stroke();
  pen.setLineDash([]);
}

function shape(pen, kind, x, y, r, colour) {
  pen.fillStyle = pen.strokeStyle = colour;
  pen.lineWidth = Math.max(1.6, r / 2);
  pen.beginPath();
  if (kind === "square") pen.rect(x - r * 0.85, y - r * 0.85, r * 1.7, r * 1.7);
  else if (kind === "diamond" || kind === "triangle") {
    const points = kind === "diamond" ? [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]] : [[0, -1.15], [1.15, 0.9], [-1.15, 0.9]];
    points.forEach(([dx, dy]) => pen.lineTo(x + dx * r, y + dy * r));
    pen.closePath();
  } else if (kind === "cross") {
    pen.moveTo(x - r, y - r);
    pen.lineTo(x + r, y + r);
    pen.moveTo(x + r, y - r);
    pen.lineTo(x - r, y + r);
    pen.stroke();
    return;
  } else pen.arc(x, y, r, 0, 2 * Math.PI);
  if (kind === "ring") pen.stroke();
  else pen.fill();
}

function curve(pen, points) {
  pen.beginPath();
  let down = false;
  for (const point of points) {
    if (point === null) down = false;
    else {
      if (down) pen.lineTo(...point);
      else pen.moveTo(...point);
      down = true;
    }
  }
}

// The frame that all charts over time share: the same window of scanner time, the same axis below.
function overTime(canvas, state, { low, high, unit, ticks: about = 3, above = 1.7 }) {
  const drawn = prepare(canvas);
  const { pen, width, height, em } = drawn;
  const tr = state.tr || 1;
  const elapsed = state.elapsed ?? 0;
  const end = Math.max(PAST, elapsed) + AHEAD;
  const start = end - PAST - AHEAD;
  const box = { x0: LEFT * em, x1: width - RIGHT * em, y0: above * em, y1: height - 1.7 * em };
  const x = (seconds) => box.x0 + ((seconds - start) / (end - start)) * (box.x1 - box.x0);
  const y = (value) => box.y1 - ((value - low) / (high - low)) * (box.y1 - box.y0);
  const { ticks, digits } = steps(low, high, about);
  for (const tick of ticks) {
    level(pen, box.x0, box.x1, y(tick), palette.grid);
    write(pen, tick.toFixed(digits).replace("-", "−"), box.x0 - 0.5 * em, y(tick), { align: "right" });
  }
  write(pen, unit, 0, 0.65 * em);
  const every = box.x1 - box.x0 < 26 * em ? 60 : 30;
  const label = "time in the run (min:s)";
  const labelled = box.x1 - pen.measureText(label).width - 2 * em;
  for (let s = Math.ceil(start / every) * every; s <= end; s += every) {
    if (x(s) < labelled) write(pen, clock(s), x(s), height - 0.65 * em, { align: x(s) < box.x0 + em ? "left" : "center" });
  }
  write(pen, label, box.x1, height - 0.65 * em, { align: "right" });
  const first = Math.max(0, Math.floor(start / tr) - 1);
  const inside = (draw) => {
    pen.save();
    pen.beginPath();
    pen.rect(box.x0, 0, box.x1 - box.x0, box.y1 + 1);
    pen.clip();
    draw();
    pen.restore();
  };
  return { ...drawn, box, x, y, start, end, first, inside, volume: (i) => x((i + 0.5) * tr) };
}

const finite = (values) => values.filter((value) => value !== null && value !== undefined);

function drawSignal(canvas, state) {
  const signal = state.signal ?? [];
  const expected = state.expected ?? [];
  const events = state.events ?? [];
  const shown = finite(signal.slice(-Math.ceil((PAST + AHEAD) / (state.tr || 1))));
  const low = Math.min(-0.3, 1.15 * Math.min(...shown, 0));
  const high = Math.max(0.5, 1.15 * Math.max(...shown, 0));
  const frame = overTime(canvas, state, { low, high, unit: "% change", ticks: 5, above: 3.3 });
  const { pen, em, box, x, y, first, inside, volume } = frame;
  const lane = box.y0 - 0.9 * em;

  inside(() => {
    const seen = events.filter((event) => event.onset + event.seconds >= frame.start && event.onset <= frame.end);
    for (const event of seen) {
      const [from, to] = [x(event.onset), x(event.onset + event.seconds)];
      const colour = palette[event.kind] ?? palette.muted;
      const width = Math.max(3, to - from);
      pen.fillStyle = pen.strokeStyle = colour;
      if (event.seen === false) {
        pen.lineWidth = 1;
        pen.setLineDash([3, 3]);
        pen.strokeRect(Math.round(from) + 0.5, box.y0 + 0.5, Math.round(width), box.y1 - box.y0 - 1);
        pen.setLineDash([]);
      } else {
        pen.globalAlpha = 0.26;
        pen.fillRect(from, box.y0, width, box.y1 - box.y0);
        pen.globalAlpha = 1;
      }
      const kind = { imagination: "circle", perception: "square", judgment: "diamond" }[event.kind];
      shape(pen, kind, from + width / 2, lane, 0.3 * em, colour);
    }
    const aside = pen.measureText("% change").width + 0.5 * em; // a guess that has moved under the unit is not written
    const spoken = seen.filter((event) => event.words);
    spoken.forEach((event, k) => {
      const middle = x(event.onset + event.seconds / 2);
      const next = k + 1 < spoken.length ? x(spoken[k + 1].onset) : box.x1;
      const half = pen.measureText(event.words).width / 2;
      const from = Math.max(box.x0, half < em ? middle - half : x(event.onset));
      if (from > aside) write(pen, shorten(pen, event.words, next - from - 0.4 * em), from, lane - 1.1 * em, { colour: palette.text });
    });
    const hills = [];
    for (let i = first; i < expected.length; i += 1) hills.push([volume(i), box.y1 - (expected[i] ?? 0) * 0.6 * (box.y1 - box.y0)]);
    if (hills.length) {
      curve(pen, hills);
      pen.strokeStyle = palette.expected;
      pen.globalAlpha = 0.55;
      pen.lineWidth = 1;
      pen.stroke();
      pen.lineTo(hills.at(-1)[0], box.y1);
      pen.lineTo(hills[0][0], box.y1);
      pen.fillStyle = palette.expected;
      pen.globalAlpha = 0.16;
      pen.fill();
      pen.globalAlpha = 1;
    }
    level(pen, box.x0, box.x1, y(0), palette.muted, [2, 3]);
    const points = [];
    for (let i = first; i < signal.length; i += 1) points.push(signal[i] === null ? null : [volume(i), y(signal[i])]);
    curve(pen, points);
    pen.strokeStyle = palette.text;
    pen.lineWidth = 1.8;
    pen.stroke();
    // A volume between two missing ones has no line: a dot shows it. The last one is where the eye should land.
    points.forEach((point, k) => {
      if (point && !points[k - 1] && !points[k + 1]) shape(pen, "circle", ...point, 1.4, palette.text);
    });
    const last = points.at(-1);
    if (last) shape(pen, "circle", ...last, 3.2, palette.accent);
  });
  const latest = finite(signal).at(-1);
  canvas.setAttribute("aria-label", latest === undefined ? "Signal over time, empty" : `Signal over time, now ${latest.toFixed(2)} % change`);
}

function drawMovement(canvas, state) {
  const values = state.movement?.displacement ?? [];
  const high = Math.max(0.7, 1.1 * Math.max(0, ...finite(values.slice(-Math.ceil((PAST + AHEAD) / (state.tr || 1))))));
  const frame = overTime(canvas, state, { low: 0, high, unit: "framewise displacement (mm)" });
  const { pen, em, box, y, first, inside, volume } = frame;
  inside(() => {
    const bar = Math.max(1.5, (volume(1) - volume(0)) * 0.6);
    for (let i = first; i < values.length; i += 1) {
      if (values[i] === null) continue;
      pen.fillStyle = values[i] > LIMIT ? palette.lost : palette.volume;
      pen.fillRect(volume(i) - bar / 2, y(values[i]), bar, Math.max(1, box.y1 - y(values[i])));
    }
    level(pen, box.x0, box.x1, y(LIMIT), palette.lost, [5, 4]);
    write(pen, `${LIMIT} mm`, box.x1 - 0.3 * em, y(LIMIT) - 0.7 * em, { colour: palette.lost, align: "right", halo: true });
  });
  const many = finite(values).filter((value) => value > LIMIT).length;
  canvas.setAttribute("aria-label", `Framewise displacement over time: ${many} volumes of this run above ${LIMIT} mm`);
}

function drawDelay(canvas, state) {
  const delays = state.volumes?.delay ?? [];
  const speed = state.speed || 1;
  const limit = (state.tr || 1) / speed;
  const high = Math.max(1.25 * limit, 1.1 * Math.max(0, ...finite(delays.slice(-Math.ceil((PAST + AHEAD) / (state.tr || 1))))));
  const frame = overTime(canvas, state, { low: 0, high, unit: "delay of arrival (s)" });
  const { pen, em, box, y, first, inside, volume } = frame;
  inside(() => {
    level(pen, box.x0, box.x1, y(limit), palette.late, [5, 4]);
    for (let i = first; i < delays.length; i += 1) {
      if (delays[i] === null) continue;
      const late = state.volumes.status[i] === "l";
      shape(pen, late ? "triangle" : "circle", volume(i), y(delays[i]), late ? 3.4 : 2, late ? palette.late : palette.volume);
    }
    const words = speed === 1 ? `TR ${state.tr} s` : `TR at ${speed}x speed ${Number(limit.toPrecision(2))} s`;
    write(pen, words, box.x1 - 0.3 * em, y(limit) - 0.7 * em, { align: "right", halo: true });
  });
}

// One cell a volume, in as many rows as fit.
function drawStrip(canvas, volumes) {
  const { pen, width, height } = prepare(canvas);
  const status = volumes?.status ?? "";
  const total = Math.max(volumes?.due ?? 0, status.length);
  if (!total) return;
  let size = Math.min(12, height);
  while (size > 1.5 && Math.ceil(total / Math.floor(width / size)) * size > height) size -= 0.5;
  const row = Math.floor(width / size);
  const gap = size > 3 ? 1 : 0.5;
  const colours = { o: palette.volume, l: palette.late, m: palette.lost };
  for (let i = 0; i < total; i += 1) {
    const [x, y] = [(i % row) * size, Math.floor(i / row) * size];
    // Late and lost volumes fill the gap around them too, so that they stand out without their colour.
    const extra = status[i] === "l" || status[i] === "m" ? gap : 0;
    pen.fillStyle = colours[status[i]] ?? palette.waiting;
    pen.fillRect(x - extra, y - extra, size - gap + 2 * extra, size - gap + 2 * extra);
  }
  canvas.setAttribute("aria-label", `Volumes of this run: ${volumes.arrived} arrived, ${volumes.late} late, ${volumes.lost} lost`);
}

function drawLearning(canvas, learning) {
  const { pen, width, height, em } = prepare(canvas);
  const history = learning.history ?? [];
  const box = { x0: LEFT * em, x1: width - 0.9 * em, y0: 1.7 * em, y1: height - 1.8 * em };
  const most = Math.max(10, learning.trials ?? 0, ...history.map((point) => point.trials));
  const x = (trials) => box.x0 + (trials / most) * (box.x1 - box.x0);
  const y = (share) => box.y1 - share * (box.y1 - box.y0);
  for (const share of [0, 0.5, 1]) {
    level(pen, box.x0, box.x1, y(share), palette.grid);
    write(pen, `${100 * share}`, box.x0 - 0.5 * em, y(share), { align: "right" });
  }
  write(pen, "accuracy (%)", 0, 0.65 * em);
  const label = "trials";
  const room = box.x1 - pen.measureText(label).width - 1.6 * em;
  for (const tick of steps(0, most, 4).ticks) if (x(tick) < room) write(pen, `${tick}`, x(tick), height - 0.65 * em, { align: "center" });
  write(pen, label, box.x1, height - 0.65 * em, { align: "right" });
  level(pen, box.x0, box.x1, y(learning.chance), palette.muted, [2, 3]);
  write(pen, "chance", box.x1, y(learning.chance) + 0.8 * em, { align: "right", halo: true });

  const truth = history.map((point) => (point.true_accuracy === null ? null : [x(point.trials), y(point.true_accuracy)]));
  if (truth.some(Boolean)) {
    curve(pen, truth);
    pen.strokeStyle = palette.imagination;
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 3]);
    pen.stroke();
    pen.setLineDash([]);
    write(pen, "- - true", box.x1, 0.65 * em, { colour: palette.imagination, align: "right" });
  }
  const points = history.map((point) => (point.accuracy === null ? null : [x(point.trials), y(point.accuracy)]));
  curve(pen, points);
  pen.strokeStyle = palette.muted;
  pen.lineWidth = 1.5;
  pen.stroke();
  if (learning.accuracy && points.at(-1)) {
    const [, low, high] = learning.accuracy;
    pen.strokeStyle = palette.muted;
    pen.beginPath();
    pen.moveTo(points.at(-1)[0], y(low));
    pen.lineTo(points.at(-1)[0], y(high));
    pen.stroke();
  }
  // Where no accuracy can be said, the verdict stands on the axis.
  history.forEach((point, k) => {
    const [px, py] = points[k] ?? [x(point.trials), y(0) - 0.4 * em];
    shape(pen, SHAPES[point.verdict] ?? "ring", px, py, Math.min(4, 0.32 * em), palette[point.verdict.replaceAll(" ", "-")] ?? palette.muted);
  });
}

// ---- connection

const send = connect(
  "/monitor/socket",
  (message, time) => {
    state = message;
    arrival = time;
    drawSoon();
  },
  (name) => {
    connection = name;
    drawSoon();
  },
);

for (const name of ["start", "pause", "continue", "truth"]) $(name).addEventListener("click", () => send({ command: name }));
// What is wanted, not its contrary: two clicks, or two monitors, must not undo each other.
const mark = (run, trial, button) => send({ command: "bad", run, trial, marked: button.getAttribute("aria-pressed") !== "true" });
$("bad").addEventListener("click", () => mark(state.run, state.trial, $("bad")));
$("trials").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const row = button?.closest("tr");
  if (row) mark(Number(row.dataset.run), Number(row.dataset.trial), button);
});
$("stop").addEventListener("click", () => $("stop-dialog").showModal());
$("stop-no").addEventListener("click", () => $("stop-dialog").close());
$("stop-yes").addEventListener("click", () => {
  $("stop-dialog").close();
  send({ command: "stop" });
});

readColours();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  drawSoon();
});
new ResizeObserver(drawSoon).observe(document.querySelector("main"));
setInterval(drawClocks, 1000);
