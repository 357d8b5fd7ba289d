import type { Attack } from "./attack.ts";

/** Requests for long names of missing namespaces, each used once: anonymous ones, and writes of a user. */
export const attack: Attack = {
  name: "requests for namespaces that do not exist",
  claim: "refused, and not kept in memory",
  needs: "server",

  async run({ ask }, signal) {
    const answers = new Map<number, number>();
    for (let at = 0; !signal.aborted; at++) {
      const namespace = `${"n".repeat(at % 4 === 0 ? 7000 : 1000)}${at}`;
      const { status } = await ask(
        at % 2 === 0
          ? { as: "nobody", path: `/api/v1/namespaces/${namespace}/pods` }
          : { method: "DELETE", path: `/api/v1/namespaces/${namespace}/pods/${namespace}` },
      );
      if (status < 400) throw new Error(`a namespace that does not exist was answered with ${status}`);
      answers.set(status, (answers.get(status) ?? 0) + 1);
    }
    return [...answers].map(([status, count]) => `${count} refused with ${status}`).join(", ");
  },
};
