// The participant's screen: draws each state as it comes, and says when it was seen.

import { connect } from "./socket.js";

const SMALLEST = 10; // px: smaller letters help nobody
const FRAMES = 60;
const COMMANDS = 20;
const LATEST = 50; // ms: nothing to a haemodynamic response
const SLOWEST = 24; // Hz

const WORDS = {
  en: {
    fullscreen: "Full screen (F)",
    testing: "Testing this screen ...",
    tested: (hz, usual, most) => `${hz} Hz, onset error ${usual} ms, at most ${most} ms`,
    fine: "fine",
    slow: "too slow: close other programs, then press T",
    lost: "Connection lost, trying again ...",
    ended: "The session has ended",
  },
  de: {
    fullscreen: "Vollbild (F)",
    testing: "Der Bildschirm wird geprüft ...",
    tested: (hz, usual, most) => `${hz} Hz, Verzögerung ${usual} ms, höchstens ${most} ms`,
    fine: "in Ordnung",
    slow: "zu langsam: andere Programme schließen, dann T drücken",
    lost: "Verbindung verloren, neuer Versuch ...",
    ended: "Die Sitzung ist beendet",
  },
  fr: {
    fullscreen: "Plein écran (F)",
    testing: "Test de l'écran en cours ...",
    tested: (hz, usual, most) => `${hz} Hz, retard d'affichage ${usual} ms, au plus ${most} ms`,
    fine: "bien",
    slow: "trop lent\u00a0: fermez les autres programmes, puis appuyez sur T",
    lost: "Connexion perdue, nouvel essai ...",
    ended: "La séance est terminée",
  },
  es: {
    fullscreen: "Pantalla completa (F)",
    testing: "Comprobando la pantalla ...",
    tested: (hz, usual, most) => `${hz} Hz, retraso ${usual} ms, como máximo ${most} ms`,
    fine: "bien",
    slow: "demasiado lento: cierre otros programas y pulse T",
    lost: "Conexión perdida, intentando de nuevo ...",
    ended: "La sesión ha terminado",
  },
};

const byId = (id) => document.getElementById(id);
const [view, cross, text, small] = ["view", "cross", "text", "small"].map(byId);
const [fullscreen, selftest, connectionLine] = ["fullscreen", "selftest", "connection"].map(byId);
const preloaded = new Map(); // images by address: kept, so that browsers do not forget them
let current = null; // the state that is shown
let connection = "connecting";
let test = { number: 0, state: "due", result: null }; // due, running or done

const words = () => WORDS[current?.look.language] ?? WORDS.en;
const visible = () => document.visibilityState === "visible";
const tellWhetherSeen = () => send({ visible: visible(), focused: document.hasFocus() });
const canTest = () => ["instructions", "rest"].includes(current?.view) && visible();
const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const nextFrame = () => new Promise(requestAnimationFrame);

const send = connect("/screen/socket", show, (news) => {
  connection = news;
  if (news === "open") tellWhetherSeen();
  drawFooter();
});

// --- What is to be seen

function show(state, arrival = performance.now()) {
  current = state;
  for (const address of state.images ?? []) image(address);
  const picture = state.image ? image(state.image) : null;
  if (picture === null || isReady(picture)) {
    draw(picture, arrival);
  } else {
    // Rare, as images are loaded before: a picture that comes late, or never, in which case its name is shown.
    const late = () => state === current && draw(isReady(picture) ? picture : null, arrival);
    picture.decode().then(late, late);
  }
  startTestIfDue();
}

function draw(picture, arrival) {
  const state = current;
  const { look } = state;
  const style = document.documentElement.style;
  document.documentElement.lang = look.language;
  style.setProperty("--text", look.text);
  style.setProperty("--background", look.background);
  style.setProperty("--font-size", `${look.font_size}vh`);
  document.body.dataset.view = view.dataset.view = state.view;
  const isCross = state.view === "fixation" && ["", "+"].includes(state.text) && !picture;
  cross.hidden = !isCross;
  text.hidden = isCross;
  text.replaceChildren(...lines(state.text));
  drawImage(picture, state.text);
  drawFooter();
  fit();
  requestAnimationFrame((start) => {
    if (state !== current) return; // it was replaced before it could be seen
    // Not the frame's nominal start, which may be before the message came.
    const delay = Math.max(start, performance.now()) - arrival;
    send({ seen: state.id, delay });
    const detail = { id: state.id, view: state.view, text: state.text, delay };
    document.dispatchEvent(new CustomEvent("shown", { detail }));
  });
}

// Each line is a block, so that sentences can be told apart where they wrap.
function lines(content) {
  return content.split("\n").flatMap((each, place) => {
    const line = document.createElement("span");
    line.className = "line";
    line.textContent = each;
    return place ? ["\n", line] : [line];
  });
}

function image(address) {
  if (!preloaded.has(address)) {
    const element = new Image();
    element.decoding = "sync"; // drawn in the same frame as all else
    element.src = `${address}${location.search}`; // with the link's token, if it has one
    element.decode().catch(() => preloaded.delete(address)); // so that it is asked for again
    preloaded.set(address, element);
  }
  return preloaded.get(address);
}

const isReady = (picture) => picture.complete && picture.naturalWidth > 0;

function drawImage(picture, alt) {
  const before = byId("image");
  if (picture === null) {
    before.hidden = true;
    return;
  }
  // The element that was decoded is put in the other's place: a copy might be decoded again.
  if (picture !== before) before.removeAttribute("id");
  picture.id = "image";
  picture.alt = alt;
  picture.hidden = false;
  if (picture !== before) before.replaceWith(picture);
}

// Letters have the protocol's size, or the largest at which all of the text is in the window.
function fit() {
  if (current === null || text.hidden) return;
  const margins = getComputedStyle(view);
  const picture = byId("image").offsetHeight; // 0 without one
  const room = {
    width: view.clientWidth - parseFloat(margins.paddingLeft) - parseFloat(margins.paddingRight),
    height: view.clientHeight - parseFloat(margins.paddingTop) - parseFloat(margins.paddingBottom) - picture,
  };
  const fits = (size) => {
    text.style.fontSize = `${size}px`;
    return text.scrollWidth <= Math.ceil(room.width) && text.scrollHeight <= Math.ceil(room.height);
  };
  const wanted = (current.look.font_size / 100) * window.innerHeight;
  for (const broken of [false, true]) {
    text.classList.toggle("broken", broken);
    if (fits(wanted)) return;
    if (broken || fits(SMALLEST)) break;
  }
  let [low, high] = [Math.min(SMALLEST, wanted), wanted];
  while (high - low > 0.5) {
    const middle = (low + high) / 2;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  fits(low);
}

function drawFooter() {
  const ready = current?.view === "instructions";
  small.textContent = current?.small ?? "";
  fullscreen.textContent = words().fullscreen;
  fullscreen.hidden = !ready || !document.fullscreenEnabled || document.fullscreenElement !== null;
  selftest.textContent = testWords();
  selftest.hidden = !ready;
  connectionLine.textContent = words()[connection] ?? "";
  connectionLine.hidden = !connectionLine.textContent;
}

// --- Self-test: how fast the screen is, and how long after a command something is seen

function testWords() {
  if (test.result === null) return test.state === "running" ? words().testing : "";
  const { frame_rate: rate, onset_error: [usual, most] } = test.result;
  const isFine = rate >= SLOWEST && most <= LATEST;
  const numbers = words().tested(...[rate, usual, most].map(Math.round));
  return `${numbers}: ${isFine ? words().fine : words().slow}`;
}

function startTestIfDue() {
  if (!canTest()) {
    if (test.state === "running") test = { ...test, number: test.number + 1, state: "due" };
  } else if (test.state === "due") {
    runTest();
  }
}

async function runTest() {
  const number = test.number + 1;
  const goesOn = () => number === test.number;
  test = { number, state: "running", result: null };
  drawFooter();
  const result = await measured(goesOn);
  if (!goesOn()) return;
  test = { number, state: "done", result };
  drawFooter();
  send({ test: result });
}

async function measured(goesOn) {
  await after(300); // a page that was just loaded is busy
  const starts = [];
  while (goesOn() && starts.length <= FRAMES) starts.push(await nextFrame());
  const errors = [];
  while (goesOn() && errors.length < COMMANDS) {
    await after(20 + 40 * Math.random()); // at any time of a frame
    const command = performance.now();
    selftest.style.opacity = errors.length % 2 ? "0.75" : "0.751"; // drawn, but nobody sees it
    errors.push(Math.max((await nextFrame()) - command, 0));
  }
  selftest.style.opacity = "";
  const steps = starts.slice(1).map((start, place) => start - starts[place]);
  return { frame_rate: 1000 / median(steps), onset_error: [median(errors), Math.max(...errors)] };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

// --- Keys, window

const toggleFullscreen = () => {
  const done = document.fullscreenElement
    ? document.exitFullscreen()
    : document.documentElement.requestFullscreen?.();
  done?.catch(() => {}); // a browser may refuse
};

const COMMAND_KEYS = {
  f: toggleFullscreen,
  t: () => canTest() && runTest(),
};

window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const isAnswer = current?.keys?.includes(event.key);
  const command = COMMAND_KEYS[event.key.toLowerCase()];
  if (!isAnswer && !command) return;
  event.preventDefault();
  if (event.repeat) return;
  if (isAnswer) send({ key: event.key, ago: Math.max(performance.now() - event.timeStamp, 0) });
  else command();
});

fullscreen.addEventListener("click", () => {
  fullscreen.blur(); // or the space bar would press it
  toggleFullscreen();
});

document.addEventListener("fullscreenchange", () => {
  drawFooter();
  fit();
});

window.addEventListener("resize", fit);

// A screen that turns dark to save power would end the experiment.
const stayAwake = () => navigator.wakeLock?.request("screen").catch(() => {});

window.addEventListener("focus", tellWhetherSeen);
window.addEventListener("blur", tellWhetherSeen);

document.addEventListener("visibilitychange", () => {
  tellWhetherSeen();
  if (visible()) stayAwake();
  startTestIfDue();
});

stayAwake();
