import assert from "node:assert/strict";
import { test } from "node:test";
import { MachinePorts, parseClientPorts, parseMachinePorts } from "./machine-ports.ts";

const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const rows = (...sockets: (readonly [string, string])[]) =>
  head + sockets.map(([local, state], i) => `   ${i}: ${local} 00000000:0000 ${state} 00000000:00000000`).join("\n");
const portsOf = (protocol: "tcp" | "udp", ...sockets: (readonly [string, string])[]) =>
  parseMachinePorts([{ protocol, text: rows(...sockets) }], [32_768, 60_999]);

test("parseMachinePorts() finds servers that others can reach, of both families", () => {
  assert.deepEqual(
    portsOf("tcp", ["00000000:0016", "0A"], ["0A00000A:1F90", "0A"], ["00000000000000000000000000000000:0050", "0A"]),
    ["tcp . 22", "tcp . 80", "tcp . 8080"],
  );
});

test("parseMachinePorts() leaves out connections and servers on loopback", () => {
  assert.deepEqual(
    portsOf(
      "tcp",
      ["0A00000A:0016", "01"],
      ["0100007F:1538", "0A"],
      ["3500007F:0035", "0A"],
      ["00000000000000000000000001000000:0277", "0A"],
      ["0000000000000000FFFF00000100007F:0278", "0A"],
    ),
    [],
  );
});

test("parseMachinePorts() counts UDP sockets outside the range of clients", () => {
  assert.deepEqual(portsOf("udp", ["00000000:0043", "07"], ["00000000:C000", "07"], ["00000000:0044", "01"]), [
    "udp . 67",
  ]);
});

for (const [setting, span] of [
  ["1024\t65535\n", [1024, 65_535]],
  ["40000 50000", [40_000, 50_000]],
  ["", [32_768, 60_999]],
  ["9 3", [32_768, 60_999]],
  [undefined, [32_768, 60_999]],
] as const) {
  test(`parseClientPorts() of ${JSON.stringify(setting)}`, () => assert.deepEqual(parseClientPorts(setting), span));
}

test("parseMachinePorts() reads what is no table as nothing", () => {
  assert.deepEqual(parseMachinePorts([{ protocol: "tcp", text: "x\n\n:\n 0: zz:zz 0 0A" }], [1, 2]), []);
});

test("MachinePorts keeps low ports for a while, because their program may be starting again", () => {
  const ports = new MachinePorts();
  assert.equal(ports.update(["tcp . 22", "tcp . 8080"]), true);
  assert.equal(ports.update(["tcp . 22", "tcp . 8080"]), false);
  assert.equal(ports.update([]), true);
  assert.deepEqual([...ports.all], ["tcp . 22"]);

  for (let look = 2; look < 20; look++) assert.equal(ports.update([]), false);
  assert.equal(ports.update([]), true);
  assert.deepEqual([...ports.all], []);
});
