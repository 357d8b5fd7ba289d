import { wholeNumber } from "../command.ts";

export const ingressFlags = {
  ingress: { type: "boolean", default: false, help: "serve Ingresses and Gateways on this machine" },
  "ingress-http-port": { type: "string", value: "N", default: "80", help: "port for HTTP, with --ingress" },
  "ingress-https-port": { type: "string", value: "N", default: "443", help: "port for HTTPS, with --ingress" },
} as const;

export interface IngressValues {
  readonly ingress: boolean;
  readonly "ingress-http-port": string;
  readonly "ingress-https-port": string;
}

/** Undefined if it was not asked for. */
export function ingressPorts(values: IngressValues): { httpPort: number; httpsPort: number } | undefined {
  if (!values.ingress) return undefined;
  const port = (flag: "ingress-http-port" | "ingress-https-port"): number =>
    wholeNumber(values[flag], flag, { min: 1, max: 65_535 });
  return { httpPort: port("ingress-http-port"), httpsPort: port("ingress-https-port") };
}
