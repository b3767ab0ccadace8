// examples/mcp_server.c as the official SDK's client sees it: node client.mjs SERVER, beside its
// node_modules. One line per case, ok or FAILED.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

let failed = 0;
const check = (name, good, seen) => {
    console.log(`${good ? "ok     " : "FAILED "} mcp, official client: ${name}`);
    if (!good) console.log("    " + JSON.stringify(seen));
    if (!good) failed = 1;
};

const transport = new StdioClientTransport({ command: process.argv[2], args: process.argv.slice(3) });
const client = new Client({ name: "test", version: "1.0.0" });
await client.connect(transport);
check("initialize", client.getServerVersion()?.name === "sbx", client.getServerVersion());
await client.ping();

const { tools } = await client.listTools();
check("tools", tools.map((t) => t.name).join() === "run_code,run_command", tools);

const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
let r = await call("run_command", { command: "cat; echo ' and ä'; exit 3", stdin: "one\n\u0001 😀" });
check("stdin, stdout, exit code", r.isError && r.structuredContent.exit_code === 3 &&
    r.structuredContent.stdout === "one\n\u0001 😀 and ä\n", r);
check("the text is the same", r.content[0].text === JSON.stringify(r.structuredContent) ||
    JSON.parse(r.content[0].text).stdout === r.structuredContent.stdout, r);

r = await call("run_code", { language: "sh", code: "read name; echo hello $name", stdin: "you\n" });
check("run_code", !r.isError && r.structuredContent.stdout === "hello you\n", r);
r = await call("run_code", { language: "c", code: "int main(void) { return nothing; }" });
check("what a compiler says", r.isError && r.structuredContent.step === "build" &&
    r.structuredContent.stderr.includes("nothing"), r);
r = await call("run_code", { language: "klingon", code: "" });
check("a language that nobody knows", r.isError && r.structuredContent.message.includes("klingon"), r);
r = await call("run_command", { command: "sleep 60", timeout_ms: 300 });
check("timeout_ms", r.structuredContent.verdict === "timed-out", r);
r = await call("run_command", { command: "yes" , timeout_ms: 1000 });
check("a flood is cut, both ends stay", r.structuredContent.stdout_truncated &&
    r.structuredContent.stdout.length <= 256 * 1024, { verdict: r.structuredContent.verdict });
r = await call("run_command", { comand: "true" });
check("wrong arguments", r.isError && r.content[0].text.includes("argument"), r);
try {
    r = await call("no_such_tool", {});
} catch (error) {
    r = error;
}
check("a wrong tool", r.code === -32602, r);

let progress = [];
r = await call("run_command", { command: "echo begun; sleep 2" }, { onprogress: (p) => progress.push(p) });
check("progress that grows", progress.length >= 2 && progress.at(-1).progress > progress[0].progress &&
    progress.at(-1).message === "6 bytes of output", progress);

const abort = new AbortController();
const start = Date.now();
setTimeout(() => abort.abort("enough"), 300);
try {
    r = await call("run_command", { command: "sleep 60" }, { signal: abort.signal });
} catch (error) {
    r = error;
}
await client.ping();
check("cancelled", Date.now() - start < 20000 && String(r).includes("enough"), String(r));

const many = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => call("run_command", { command: `echo ${n}` })));
check("six at once", many.map((m) => m.structuredContent.stdout.trim()).join("") === "123456", many);
await client.close();
process.exit(failed);
