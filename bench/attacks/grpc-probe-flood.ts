import { frame, h2Frame, h2Start, status200 } from "../lib/h2-frames.ts";
import { awaitProbes, type Flood, floodPort, startFloods } from "../lib/hostile-pods.ts";
import { type Attack } from "./attack.ts";

const probe = { grpc: { port: floodPort } };
const answer = h2Frame(frame.headers, status200, { flags: 4, stream: 1 });
/** Announces a message of 1 GiB, followed by its bytes. */
const announced = h2Frame(frame.data, [0, 0x40, 0, 0, 0], { stream: 1 });
const zeros = Array<number>(1000).fill(0);

const floods: Flood[] = [
  {
    name: "large",
    start: Buffer.concat([h2Start, answer, announced]),
    block: h2Frame(frame.data, zeros, { stream: 1 }),
    probe,
  },
  {
    name: "many",
    start: Buffer.concat([h2Start, answer]),
    block: h2Frame(frame.data, [0, 0, 0, 0, 0], { stream: 1 }),
    probe,
  },
];

/** Pods that answer a gRPC probe with as much as it reads. */
export const attack: Attack = {
  name: "grpc-probe-flood",
  claim: "a probe reads at most 16 KiB, and then fails",
  needs: "node",
  prepare: (target) => startFloods(target, floods),
  run: awaitProbes,
};
