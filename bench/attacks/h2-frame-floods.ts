import { frame, h2Frame, h2Start, status103 } from "../lib/h2-frames.ts";
import { awaitProbes, type Flood, floodPort, startFloods } from "../lib/hostile-pods.ts";
import { type Attack } from "./attack.ts";

const probe = { grpc: { port: floodPort } };
const eight = Array<number>(8).fill(0);
const flood = (name: string, block: Buffer, start: Buffer = h2Start): Flood => ({ name, start, block, probe });

const unended = Buffer.concat([h2Start, h2Frame(frame.headers, status103, { stream: 1 })]);
const floods = [
  flood("window-update", h2Frame(frame.windowUpdate, [0, 0, 0, 1])),
  flood("settings", h2Frame(frame.settings)),
  flood("ping", h2Frame(frame.ping, eight)),
  flood("goaway", h2Frame(frame.goAway, eight)),
  flood("early-hints", h2Frame(frame.headers, status103, { flags: 4, stream: 1 })),
  flood("continuation", h2Frame(frame.continuation, [], { stream: 1 }), unended),
];

/** Pods that answer a gRPC probe with unsolicited HTTP/2 frames. */
export const attack: Attack = {
  name: "h2-frame-floods",
  claim: "frames count against the 16 KiB of a probe",
  needs: "node",
  prepare: (target) => startFloods(target, floods),
  run: awaitProbes,
};
