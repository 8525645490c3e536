// The pages' connection to the server: every message is a whole state, so a lost connection loses nothing but time.

const RETRY = 1000; // ms

const over = (state) => state.phase === "over" || state.view === "over";

// Calls onState(state, arrival) with each message (arrival: performance.now() at once when it came) and
// onConnection("connecting" | "open" | "lost" | "ended") with each change. Returns send(object), which
// says whether the message could be sent: messages are not kept for later, when they might no longer be meant.
export function connect(path, onState, onConnection = () => {}) {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const address = `${scheme}//${location.host}${path}${location.search}`;
  let socket = null;
  let ended = false;

  const send = (message) => {
    if (socket?.readyState !== WebSocket.OPEN) return false;
    socket.send(JSON.stringify(message));
    return true;
  };

  const open = () => {
    socket = new WebSocket(address);
    socket.onopen = () => onConnection("open");
    socket.onmessage = (event) => {
      const arrival = performance.now();
      const state = JSON.parse(event.data);
      if ("ping" in state) {
        send({ pong: state.ping });
        return;
      }
      ended = over(state);
      onState(state, arrival);
    };
    socket.onclose = () => {
      if (ended) {
        onConnection("ended");
        return;
      }
      onConnection("lost");
      setTimeout(open, RETRY);
    };
  };

  onConnection("connecting");
  open();
  return send;
}
