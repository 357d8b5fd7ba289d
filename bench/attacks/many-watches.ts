import { BrokenClaim, bearer, count, openSession, repeat, summary } from "../lib/hostile.ts";
import { type Attack } from "./attack.ts";

export const attack: Attack = {
  name: "countless watches",
  claim: "5,000 a user, then 429",
  needs: "server",

  async run(target, signal) {
    const answers = new Map<string, number>();
    const sessions = Array.from({ length: 12 }, () => openSession(target, signal));
    let opened = 0;
    await repeat(signal, async () => {
      const session = sessions[opened++ % sessions.length];
      if (opened > 9000 || !session || session.destroyed) return;
      const path = `/api/v1/namespaces/${target.namespace}/configmaps?watch=true`;
      for (let n = 0; n < 20; n++) {
        const stream = session.request({ ":path": path, ...bearer(target) }).on("error", () => {});
        stream.on("response", ({ ":status": status = 0 }) => count(answers, status)).resume();
      }
      opened += 19;
    });
    for (const session of sessions) session.destroy();
    if ((answers.get("200") ?? 0) > 5000) throw new BrokenClaim(summary(answers));
    return summary(answers);
  },
};
