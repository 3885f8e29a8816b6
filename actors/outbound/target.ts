/**
 * Allowed targets for requests of rules: loopback and public addresses, and the networks of `[webhooks] allow`. All other
 * ranges of IANA's special-purpose registries are refused (private and link-local networks, shared, documentation,
 * benchmarking, relays, multicast, reserved). The metadata addresses of clouds are refused in any case. A name is resolved
 * once; the connection goes to the checked address.
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
];
/** Metadata services of clouds, which hand out credentials of the machine; link-local addresses hold most of them. */
const METADATA_4: readonly (readonly [string, number])[] = [
  ["169.254.0.0", 16],
  // Azure, Alibaba, Oracle.
  ["168.63.129.16", 32],
  ["100.100.100.200", 32],
  ["192.0.0.192", 32],
];
const METADATA_6: readonly (readonly [string, number])[] = [
  ["fe80::", 10],
  // AWS, Google.
  ["fd00:ec2::", 32],
  ["fd20:ce::254", 128],
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

function blockList(ranges: readonly (readonly [string, number])[], family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of ranges) list.addSubnet(address, prefix, family);
  return list;
}

const refused4 = blockList(REFUSED_4, "ipv4");
const refused6 = blockList(REFUSED_6, "ipv6");
const global6 = blockList([GLOBAL_6], "ipv6");
const nat64 = blockList([NAT64], "ipv6");
const metadata4 = blockList(METADATA_4, "ipv4");
const metadata6 = blockList(METADATA_6, "ipv6");

/** Decides to which addresses requests of rules may go. */
export class Targets {
  readonly #allowed = new BlockList();

  /** @param networks in CIDR notation, such as 192.168.0.0/16, whose addresses are allowed too */
  constructor(networks: readonly string[] = []) {
    for (const network of networks) {
      const [address = "", prefix = ""] = network.split("/");
      this.#allowed.addSubnet(address, Number(prefix), isIP(address) === 6 ? "ipv6" : "ipv4");
    }
  }

  /** The error of a target, or null. A name is checked when it is resolved. */
  check(url: URL): string | null {
    if (url.protocol !== "http:" && url.protocol !== "https:")
      return `${url.protocol.slice(0, -1)} is not allowed; use http or https`;
    if (url.username !== "" || url.password !== "") return "credentials in a URL are not allowed; use a header";
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    return isIP(host) !== 0 && !this.#allows(host) ? `address ${host} is not allowed${adviceFor(host)}` : null;
  }

  /** Resolves a name for a connection, and rejects it if any of its addresses is not allowed. */
  lookup(resolve: Resolver = resolveName): LookupFunction {
    return (hostname, options, callback) => {
      resolve(hostname, { ...options, all: true }, (error, addresses) => {
        if (error !== null) return callback(error, "", 0);
        const wrong = addresses.find(({ address }) => !this.#allows(address));
        const first = addresses[0];
        if (wrong !== undefined || first === undefined)
          return callback(
            new Error(`${hostname} resolves to ${wrong?.address ?? "nothing"}, which is not allowed${adviceFor(wrong?.address)}`),
            "",
            0,
          );
        if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      });
    };
  }

  #allows(address: string): boolean {
    if (isIP(address) === 4)
      return !metadata4.check(address, "ipv4") && (isPublic(address) || this.#allowed.check(address, "ipv4"));
    return (
      !metadata6.check(address, "ipv6") && (isPublic(address) || (!isTranslated(address) && this.#allowed.check(address, "ipv6")))
    );
  }
}

/** Empty for an address that no setting can allow. */
function adviceFor(address: string | undefined): string {
  const kind = isIP(address ?? "");
  if (address === undefined || kind === 0) return "";
  const closed = kind === 4 ? metadata4.check(address, "ipv4") : metadata6.check(address, "ipv6") || isTranslated(address);
  return closed ? "" : "; [webhooks] allow in millrace.toml can allow its network";
}

/** True for loopback and public addresses. */
function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !refused4.check(address, "ipv4");
  if (nat64.check(address, "ipv6")) return isPublic4(last4(address));
  const groups = groupsOf(address);
  if (groups.every((group, index) => group === (index === 7 ? 1 : 0))) return true;
  return global6.check(address, "ipv6") && !refused6.check(address, "ipv6");
}

/** Addresses that hold an IPv4 address are never opened by a network of IPv6, because they may hold a metadata address. */
function isTranslated(address: string): boolean {
  const [first, second, third, fourth] = groupsOf(address);
  const embedded = first === 0 && second === 0 && third === 0 && fourth === 0;
  return embedded || first === 0x2002 || (first === 0x64 && second === 0xff9b) || (first === 0x2001 && second === 0);
}

/** Loopback is not public here: behind a translator it belongs to another host. */
function isPublic4(address: string): boolean {
  return !refused4.check(address, "ipv4") && !metadata4.check(address, "ipv4") && !address.startsWith("127.");
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
