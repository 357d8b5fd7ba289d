import { type KeyUsages } from "./x509.ts";

/** Bits of KeyUsage, by the names that Kubernetes gives them. */
const bits: ReadonlyMap<string, number> = new Map([
  ["signing", 0],
  ["digital signature", 0],
  ["content commitment", 1],
  ["key encipherment", 2],
  ["data encipherment", 3],
  ["key agreement", 4],
  ["cert sign", 5],
  ["crl sign", 6],
  ["encipher only", 7],
  ["decipher only", 8],
]);

/** Object ids of ExtendedKeyUsage, in the order in which certificates list them. */
const extended: ReadonlyMap<string, string> = new Map([
  ["any", "2.5.29.37.0"],
  ["server auth", "1.3.6.1.5.5.7.3.1"],
  ["client auth", "1.3.6.1.5.5.7.3.2"],
  ["code signing", "1.3.6.1.5.5.7.3.3"],
  ["email protection", "1.3.6.1.5.5.7.3.4"],
  ["s/mime", "1.3.6.1.5.5.7.3.4"],
  ["ipsec end system", "1.3.6.1.5.5.7.3.5"],
  ["ipsec tunnel", "1.3.6.1.5.5.7.3.6"],
  ["ipsec user", "1.3.6.1.5.5.7.3.7"],
  ["timestamping", "1.3.6.1.5.5.7.3.8"],
  ["ocsp signing", "1.3.6.1.5.5.7.3.9"],
  ["microsoft sgc", "1.3.6.1.4.1.311.10.3.3"],
  ["netscape sgc", "2.16.840.1.113730.4.1"],
]);

/** What a certificate says for the usages that a signing request names. Names that nobody knows are left out. */
export function keyUsagesOf(names: readonly string[]): KeyUsages {
  const asked = new Set(names);
  const known = <V>(table: ReadonlyMap<string, V>): V[] => [
    ...new Set([...table].flatMap(([name, value]) => (asked.has(name) ? [value] : []))),
  ];
  return { bits: known(bits), extended: known(extended) };
}
