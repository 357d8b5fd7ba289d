import { BrokenClaim, count, summary } from "../lib/hostile.ts";
import { type Attack } from "./attack.ts";

const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: ";
const bodies = [
  `${head}[${"{a: &x [],b: *x},".repeat(170_000)}]`,
  `${head}"${"\\x".repeat(120_000)}`,
  `${head}[${"- ".repeat(1_000_000)}`,
  Array.from({ length: 1500 }, (_, n) => `${" ".repeat(n)}a:\n`).join(""),
  `${head}[${"?,".repeat(100_000)}]`,
];

export const attack: Attack = {
  name: "YAML bodies",
  claim: "parsed in two threads of 160 MiB each, or refused",
  needs: "server",

  async run(target, signal) {
    const answers = new Map<string, number>();
    const path = `/api/v1/namespaces/${target.namespace}/configmaps`;
    const attacker = async (start: number): Promise<void> => {
      for (let n = start; !signal.aborted; n++) {
        const { status } = await target.ask({ method: "POST", path, type: "application/yaml", body: bodies[n % 5] });
        count(answers, status);
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, n) => attacker(n)));
    if ([...answers.keys()].some((status) => Number(status) >= 500)) throw new BrokenClaim(summary(answers));
    return summary(answers);
  },
};
