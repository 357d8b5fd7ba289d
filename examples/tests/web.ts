/** The workload of these examples. */
export const labels = { app: "web" };
export const web = (replicas: number, more: object = {}, image = "web:1") => ({
  metadata: { namespace: "default", name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image, ...more }] } },
  },
});
export const name = { namespace: "default", name: "web" };
/** Runs a test with another order of events: `SEED=7 npx orlop run --test suites/*.test.ts`. */
export const seed = Number(process.env.SEED ?? 1);
