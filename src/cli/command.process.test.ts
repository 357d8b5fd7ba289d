import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  addressRange,
  durationSeconds,
  Interruption,
  parseFlags,
  refuseArguments,
  UserError,
  wholeNumber,
} from "./command.ts";
import { renderHelp } from "./help.ts";
import { commands, explainConnection, runCommand } from "./main.ts";
import { explainStart } from "./start-faults.ts";

test("parseFlags() says which flag is unknown and which was meant, without Node's advice", () => {
  const parse = () => parseFlags(["--prot", "1"], { port: { type: "string" } });

  assert.throws(
    parse,
    (error) => error instanceof UserError && error.message === "Unknown option '--prot': did you mean --port?",
  );
  const negative = () => parseFlags(["--nodes", "-1"], { nodes: { type: "string" } });
  const needsValue = '--nodes needs a value; one that starts with "-" is written --nodes=VALUE';
  assert.throws(negative, (error) => error instanceof UserError && error.message === needsValue);
  const far = () => parseFlags(["--colour"], { port: { type: "string" } });
  assert.throws(far, (error) => error instanceof UserError && error.message === "Unknown option '--colour'");
});

test("runCommand() ends with 130 after Ctrl-C, and with 1 for other mistakes", async (t) => {
  t.mock.method(process.stderr, "write", () => true);
  const failing = (error: Error) => ({
    up: { summary: "", load: async () => ({ flags: {}, run: () => Promise.reject(error) }) },
  });

  assert.equal(await runCommand(failing(new Interruption("interrupted")), ["up"]), 130);
  assert.equal(await runCommand(failing(new UserError("port in use")), ["up"]), 1);
});

for (const text of ["", "x", "1.5", "0", "70000"]) {
  test(`wholeNumber() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => wholeNumber(text, "port", { min: 1, max: 65535 }), UserError);
  });
}

for (const text of ["", "5", "0", "-5m", "10ms", "1 h", "soon", "9".repeat(200)]) {
  test(`durationSeconds() refuses ${JSON.stringify(text.slice(0, 10))}`, () => {
    assert.throws(() => durationSeconds(text, "event-ttl"), UserError);
  });
}

test("durationSeconds() takes Go's durations", () => {
  assert.deepEqual(
    ["1s", "90s", "5m", "1h30m"].map((text) => durationSeconds(text, "event-ttl")),
    [1, 90, 300, 5400],
  );
});

test("wholeNumber() takes what is within its limits", () => {
  assert.equal(wholeNumber("65535", "port", { min: 1, max: 65535 }), 65535);
});

for (const text of ["10.0.0.0", "10.0.0.0/33", "10.0.0/8", "fd00::/64", "10.0.0.0/29"]) {
  test(`addressRange() refuses ${text}`, () => {
    assert.throws(() => addressRange(text, "service-cidr", { maxBits: 28 }), UserError);
  });
}

test("refuseArguments() names the surplus argument", () => {
  const refuse = (...positionals: string[]) => refuseArguments("up", positionals, "--port N");

  assert.throws(() => refuse("now"), /^UserError: up takes flags only, not "now": write --port N$/);
  refuse();
});

test("an unknown command is refused, even if an object has a property of that name", async () => {
  for (const name of ["constructor", "__proto__", "toString", "nothing"])
    assert.equal(await runCommand(commands, [name]), 2);
});

test("an error that the user can fix is shown without a stack, and any other error is thrown", async () => {
  const failing = (error: Error) => ({
    it: { summary: "", load: async () => ({ flags: {}, run: () => Promise.reject(error) }) },
  });

  assert.equal(await runCommand(failing(new UserError("mend it")), ["it"]), 1);
  await assert.rejects(runCommand(failing(new TypeError("a bug")), ["it"]), TypeError);
});

const helpless = { summary: "do it", load: async () => ({ flags: {}, run: async () => assert.fail("it ran") }) };
for (const args of [
  ["it", "--help"],
  ["it", "now", "-h"],
  ["it", "--port", "--help"],
  ["help", "it"],
  ["--help", "it"],
]) {
  test(`orlop ${args.join(" ")} shows the help of the command and does not run it`, async () => {
    assert.equal(await runCommand({ it: helpless }, args), 0);
  });
}

test("after --, a word is not a flag and does not ask for help", async () => {
  await assert.rejects(runCommand({ it: helpless }, ["it", "--", "--help"]), /it ran/);
});

test("renderHelp() shows what a command takes, its flags and their defaults", () => {
  const flags = {
    port: { type: "string", value: "N", default: "6443", help: "where it listens" },
    verbose: { type: "boolean", short: "v", default: false, help: "say more" },
  } as const;

  assert.equal(
    renderHelp("it", { ...helpless, takes: "KIND/NAME" }, flags),
    `usage: orlop it KIND/NAME [flags]

do it

  --port N       where it listens (default 6443)
  -v, --verbose  say more
`,
  );
});

test("an unreachable server is reported with its address and what to do", () => {
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED", address: "127.0.0.1", port: 6443 });
  const error = new Error("GET /x got no answer", { cause: new Error("wire", { cause: refused }) });

  assert.match(explainConnection(error) ?? "", /^no server answers at 127\.0\.0\.1:6443: start one with `.*orlop up`/);
  assert.equal(explainConnection(new Error("a bug")), undefined);
});

const faults: readonly { fault: object; says: RegExp }[] = [
  { fault: { code: "EADDRINUSE", port: 6443 }, says: /port 6443 is in use.*--port$/ },
  { fault: { code: "EADDRINUSE", port: 10250 }, says: /port 10250 is in use.*--kubelet-port$/ },
  { fault: { code: "EACCES", syscall: "listen", port: 443 }, says: /not allowed to listen on port 443/ },
  { fault: { code: "EACCES", syscall: "mkdir", path: "/data" }, says: /cannot write to \/data.*--data-dir$/ },
  { fault: { code: "ENOENT", syscall: "mkdir", path: "/proc/x" }, says: /cannot write to \/proc\/x.*--data-dir$/ },
  { fault: { code: "EROFS", path: "/data" }, says: /cannot write to \/data/ },
  { fault: { code: "EADDRNOTAVAIL", address: "8.8.8.8" }, says: /cannot listen on 8\.8\.8\.8/ },
  { fault: { code: "ENOSPC", path: "/data" }, says: /no space left/ },
];
for (const { fault, says } of faults) {
  test(`explainStart() explains ${JSON.stringify(fault)}`, () => {
    const explained = explainStart(Object.assign(new Error("raw"), fault), { port: 6443, "kubelet-port": "10250" });

    assert.ok(explained instanceof UserError);
    assert.match(explained.message, says);
  });
}

test("explainStart() returns an unknown error unchanged", () => {
  const error = new Error("a bug");

  assert.equal(explainStart(error, { port: 1 }), error);
});

test("a reader that closes the pipe early, as head does, does not end the command", async () => {
  const entry = fileURLToPath(import.meta.resolve("../bin/orlop.ts"));
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", entry, "help"]);
  const said: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => said.push(chunk));

  child.stdout.destroy();
  const [code] = await once(child, "close");

  assert.deepEqual([code, Buffer.concat(said).toString()], [0, ""]);
});
