// Lets V8 take out its garbage, through the inspector of `wrangler dev`: node collect_garbage.mjs PORT
const socket = new WebSocket(`ws://127.0.0.1:${process.argv[2]}/ws`, { headers: { origin: "http://localhost" } });
const collect = (id) => socket.send(JSON.stringify({ id, method: "HeapProfiler.collectGarbage" }));
socket.onerror = () => process.exit(1);
socket.onopen = () => collect(1);
socket.onmessage = ({ data }) => {
  const { id } = JSON.parse(data);
  // once for what was garbage, and again for what that was all that held: Python's objects hold JavaScript's, and back
  if (id === 1) setTimeout(collect, 500, 2);
  if (id === 2) setTimeout(collect, 500, 3);
  if (id === 3) process.exit(0);
};
setTimeout(() => process.exit(2), 30_000);
