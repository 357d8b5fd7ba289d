import { BrokenClaim, count, openSession, repeat, summary } from "../lib/hostile.ts";
import { type Attack } from "./attack.ts";

const streams = 300;
const body = Buffer.alloc(3 << 20, " ");

export const attack: Attack = {
  name: "anonymous bodies",
  claim: "refused by their headers; bodies are not read",
  needs: "server",

  async run(target, signal) {
    const answers = new Map<string, number>();
    let sent = 0;
    await repeat(signal, async () => {
      const session = openSession(target, signal);
      const one = (): Promise<void> =>
        new Promise((resolve) => {
          const path = `/api/v1/namespaces/${target.victimNamespace}/configmaps`;
          const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/json" });
          stream.on("error", () => {});
          stream.on("response", ({ ":status": status = 0 }) => count(answers, status));
          stream.on("close", resolve);
          stream.resume(); // A stream with an unread answer does not close.
          stream.end(body);
        });
      const closed = new Promise<void>((resolve) => void session.once("close", resolve));
      await Promise.race([Promise.all(Array.from({ length: streams }, one)), closed]);
      sent += session.socket.bytesWritten ?? 0;
      session.destroy();
    });
    if ([...answers.keys()].some((status) => status !== "403" && status !== "401")) {
      throw new BrokenClaim(`an anonymous body was answered: ${summary(answers)}`);
    }
    return `${summary(answers)}, ${(sent / 2 ** 20).toFixed(0)} MiB sent of bodies of 3 MiB each`;
  },
};
