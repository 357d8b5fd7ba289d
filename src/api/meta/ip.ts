import { isIP } from "node:net";

const sloppyIPv4 = /^0*(\d{1,3})\.0*(\d{1,3})\.0*(\d{1,3})\.0*(\d{1,3})$/;

/** What is wrong with a text as an IP address, in upstream's words. */
export function ipFault(value: string): string | undefined {
  const version = value.includes("%") ? 0 : isIP(value);
  if (version === 4) return undefined;
  if (version === 6) return isMapped(value) ? "must not be an IPv4-mapped IPv6 address" : undefined;
  const octets = sloppyIPv4.exec(value)?.slice(1) ?? [];
  if (octets.length === 4 && octets.every((octet) => Number(octet) <= 255)) return "must not have leading 0s";
  return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
}

/** `::ffff:10.0.0.1`, in any writing. */
const isMapped = (value: string): boolean => /^[0:]*:ffff:([0-9.]+|[0-9a-f]{1,4}:[0-9a-f]{1,4})$/i.test(value);

/** 4, 6, or 0 for a text that is no address. */
export const ipVersion = (value: string): number => (value.includes("%") ? 0 : isIP(value));
