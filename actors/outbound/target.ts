/**
 * Where requests of rules may go: loopback and public addresses. Link-local addresses, where clouds keep their metadata, and
 * private networks are refused, in whatever form they are written. A name is resolved once; the connection goes to what was
 * checked.
 */
import { lookup as resolveName } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

const REFUSED_4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3],
];
const REFUSED_6: readonly (readonly [string, number])[] = [
  ["::", 128],
  ["fc00::", 7],
  ["fe80::", 9],
  ["ff00::", 8],
];

const refused = new BlockList();
for (const [address, prefix] of REFUSED_4) refused.addSubnet(address, prefix, "ipv4");
for (const [address, prefix] of REFUSED_6) refused.addSubnet(address, prefix, "ipv6");

/** What is wrong with a target, or null. A name is checked when it is resolved. */
export function checkTarget(url: URL): string | null {
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return `${url.protocol.slice(0, -1)} is not allowed; use http or https`;
  if (url.username !== "" || url.password !== "") return "credentials in a URL are not allowed; use a header";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(host) !== 0 && !isAllowed(host) ? `address ${host} is not allowed` : null;
}

export function isAllowed(address: string): boolean {
  if (isIP(address) === 4) return !refused.check(address, "ipv4");
  const inner = embedded4(address);
  return inner === null ? !refused.check(address, "ipv6") : !refused.check(inner, "ipv4");
}

/** The IPv4 address inside an IPv6 one: mapped, compatible, NAT64 and 6to4 forms. */
function embedded4(address: string): string | null {
  const groups = groupsOf(address);
  const head = groups.slice(0, 6).join(":");
  const [high = 0, low = 0] = groups.slice(6);
  if (head === "0:0:0:0:0:65535" || head === "100:65435:0:0:0:0") return dotted(high, low);
  if (head === "0:0:0:0:0:0" && (high !== 0 || low > 1)) return dotted(high, low);
  return groups[0] === 0x2002 ? dotted(groups[1] ?? 0, groups[2] ?? 0) : null;
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** The eight groups of an IPv6 address as numbers. */
function groupsOf(address: string): number[] {
  const plain = address
    .replace(/%.*$/, "")
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, a, b, c, d) => `${hex(a, b)}:${hex(c, d)}`);
  const [front = "", back] = plain.split("::");
  const left = front === "" ? [] : front.split(":");
  const right = back === undefined || back === "" ? [] : back.split(":");
  const gap = back === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array.from({ length: gap }, () => "0"), ...right].map((group) => Number.parseInt(group, 16));
}

function hex(high: string, low: string): string {
  return (Number(high) * 256 + Number(low)).toString(16);
}

/** Resolves a name for a connection and refuses it when any of its addresses is not allowed. */
export const checkedLookup: LookupFunction = (hostname, options, callback) => {
  resolveName(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, "", 0);
    const wrong = addresses.find(({ address }) => !isAllowed(address));
    const first = addresses[0];
    if (wrong !== undefined || first === undefined)
      return callback(new Error(`${hostname} resolves to ${wrong?.address ?? "nothing"}, which is not allowed`), "", 0);
    if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
