/**
 * Allowed targets for requests of rules: loopback and public addresses. All other ranges of IANA's special-purpose registries
 * are refused (private and link-local networks, shared, documentation, benchmarking, relays, multicast, reserved), as are the
 * metadata addresses of clouds. A name is resolved once; the connection goes to the checked address.
 */
import { type LookupAddress, type LookupAllOptions, lookup as resolveName } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** iana.org/assignments/iana-ipv4-special-registry without 127.0.0.0/8, and multicast. */
const REFUSED_4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  // Multicast and the reserved addresses above.
  ["224.0.0.0", 3],
  // Metadata service of Azure: the only such address in public space.
  ["168.63.129.16", 32],
];
/** IANA has assigned only 2000::/3 of IPv6; all other ranges of the registry are outside and thus refused. */
const GLOBAL_6 = ["2000::", 3] as const;
const REFUSED_6: readonly (readonly [string, number])[] = [
  // Protocol assignments, including Teredo and benchmarking.
  ["2001::", 23],
  ["2001:db8::", 32],
  // 6to4: contains an IPv4 address, reached through a relay.
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3fff::", 20],
];
/** NAT64: hosts without IPv4 reach public IPv4 addresses through it; the IPv4 address is in the last 32 bits. */
const NAT64 = ["64:ff9b::", 96] as const;

const refused4 = new BlockList();
for (const [address, prefix] of REFUSED_4) refused4.addSubnet(address, prefix, "ipv4");
const refused6 = new BlockList();
for (const [address, prefix] of REFUSED_6) refused6.addSubnet(address, prefix, "ipv6");
const global6 = new BlockList();
global6.addSubnet(...GLOBAL_6, "ipv6");
const nat64 = new BlockList();
nat64.addSubnet(...NAT64, "ipv6");

/** The error of a target, or null. A name is checked when it is resolved. */
export function checkTarget(url: URL): string | null {
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return `${url.protocol.slice(0, -1)} is not allowed; use http or https`;
  if (url.username !== "" || url.password !== "") return "credentials in a URL are not allowed; use a header";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(host) !== 0 && !isAllowed(host) ? `address ${host} is not allowed` : null;
}

export function isAllowed(address: string): boolean {
  if (isIP(address) === 4) return !refused4.check(address, "ipv4");
  if (nat64.check(address, "ipv6")) return isPublic4(last4(address));
  const groups = groupsOf(address);
  if (groups.every((group, index) => group === (index === 7 ? 1 : 0))) return true;
  return global6.check(address, "ipv6") && !refused6.check(address, "ipv6");
}

/** Loopback is not public here: behind a translator it belongs to another host. */
function isPublic4(address: string): boolean {
  return !refused4.check(address, "ipv4") && !address.startsWith("127.");
}

/** The IPv4 address in the last 32 bits of an IPv6 one. */
function last4(address: string): string {
  const [high = 0, low = 0] = groupsOf(address).slice(6);
  return dotted(high, low);
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

type Resolver = (
  name: string,
  options: LookupAllOptions,
  resolved: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Resolves a name for a connection, and rejects it if any of its addresses is not allowed. */
export function checkedLookup(resolve: Resolver = resolveName): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "", 0);
      const wrong = addresses.find(({ address }) => !isAllowed(address));
      const first = addresses[0];
      if (wrong !== undefined || first === undefined)
        return callback(new Error(`${hostname} resolves to ${wrong?.address ?? "nothing"}, which is not allowed`), "", 0);
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
