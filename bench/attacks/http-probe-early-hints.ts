import { awaitProbes, type Flood, floodPort, startFloods } from "../lib/hostile-pods.ts";
import { type Attack } from "./attack.ts";

const probe = { httpGet: { port: floodPort, path: "/" } };
const secure = { httpGet: { port: floodPort, path: "/", scheme: "HTTPS" } };

const floods: Flood[] = [
  { name: "hints", start: "", block: "HTTP/1.1 103 Early Hints\r\n\r\n", probe },
  { name: "continue", start: "", block: "HTTP/1.1 100\r\n\r\n", probe },
  { name: "headers", start: "HTTP/1.1 200 OK\r\n", block: "x: y\r\n", probe },
  { name: "tls", start: "", block: Buffer.from([0x15, 3, 3, 0, 2, 1, 90]), probe: secure },
];

/** Pods that answer an HTTP probe with headers and interim answers, but never a final one. */
export const attack: Attack = {
  name: "http-probe-early-hints",
  claim: "a probe fails after five interim answers or 64 KiB",
  needs: "node",
  prepare: (target) => startFloods(target, floods),
  run: awaitProbes,
};
