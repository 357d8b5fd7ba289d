import { floodPort, startFloods } from "../lib/hostile-pods.ts";
import { type Attack } from "./attack.ts";

/** Requests the attacker's own pod through the API server's proxy. The pod sends interim answers, and never a final one. */
export const attack: Attack = {
  name: "proxy-early-hints",
  claim: "a backend may send five interim answers, then 503",
  needs: "node",
  prepare: (target) => startFloods(target, [{ name: "hints", start: "", block: "HTTP/1.1 103 Early Hints\r\n\r\n" }]),

  async run({ namespace, ask }, signal) {
    const path = `/api/v1/namespaces/${namespace}/pods/hints:${floodPort}/proxy/`;
    let refused = 0;
    const askAgain = async (): Promise<void> => {
      while (!signal.aborted) {
        const { status, text } = await ask({ path });
        if (status !== 503 || !/too many 1xx|ECONNRE|socket hang up/.test(text)) throw new Error(`${status} ${text}`);
        refused++;
      }
    };
    await Promise.all([askAgain(), askAgain()]);
    return `${refused} requests ended with 503`;
  },
};
