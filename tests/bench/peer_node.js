// Node's spawnSync starting the tiny program and collecting both of its streams.
// Usage: peer_node.js MB TINY
const { spawnSync } = require("child_process");
const [megabytes, tiny] = process.argv.slice(2);
const ballast = Buffer.alloc(Number(megabytes) << 20, 1);
const now = () => Number(process.hrtime.bigint()) / 1e3;

require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const end = now() + Number(line.split(" ")[1]) * 1e3;
  const samples = [];
  do {
    const start = now();
    const done = spawnSync(tiny);
    samples.push(done.status === 0 && String(done.stdout) === "ok\n" ? now() - start : -1);
  } while (samples[samples.length - 1] >= 0 && now() < end);
  samples.sort((a, b) => a - b);
  console.log(samples[samples.length >> 1]);
  if (ballast.length < 0) console.log("never");
});
