/** Allowed targets for requests of rules. Opens no connection and uses no resolver. */
import type { LookupAddress } from "node:dns";
import t from "tap";
import { Targets } from "#actors/outbound/target";

/** One address in each range of IANA's special-purpose registries except loopback, and the metadata addresses of clouds. */
const SPECIAL = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "100.64.0.1",
  "100.100.100.200",
  "169.254.169.254",
  "172.20.0.1",
  "192.0.0.8",
  "192.0.0.192",
  "192.0.2.1",
  "192.31.196.1",
  "192.52.193.1",
  "192.88.99.1",
  "192.168.1.1",
  "192.175.48.1",
  "198.19.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "168.63.129.16",
  "::",
  "::2",
  "::7f00:1",
  "::a9fe:a9fe",
  "::ffff:169.254.169.254",
  "::ffff:127.0.0.1",
  "::ffff:93.184.216.34",
  "::ffff:0:a9fe:a9fe",
  "64:ff9b::a9fe:a9fe",
  "64:ff9b::10.0.0.1",
  "64:ff9b::127.0.0.1",
  "64:ff9b:1::1",
  "64:ff9b:1::5db8:d822",
  "100::1",
  "100:0:0:1::1",
  "2001::1",
  "2001:0:a9fe:a9fe::1",
  "2001:1::1",
  "2001:2::1",
  "2001:3::1",
  "2001:4:112::1",
  "2001:10::1",
  "2001:20::1",
  "2001:30::1",
  "2001:1ff:ffff::1",
  "2001:db8::1",
  "2002:a9fe:a9fe::1",
  "2002:5db8:d822::1",
  "2620:4f:8000::1",
  "3fff::1",
  "4000::1",
  "5f00::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fec0::1",
  "ff02::1",
] as const;
const PUBLIC = [
  "127.0.0.1",
  "127.8.9.10",
  "::1",
  "93.184.216.34",
  "168.63.129.17",
  "2606:4700::1",
  "64:ff9b::5db8:d822",
] as const;

const targets = new Targets();

function urlOf(address: string): URL {
  return new URL(`http://${address.includes(":") ? `[${address}]` : address}/`);
}

t.test("requests of rules go to loopback and public addresses", async (t) => {
  for (const address of PUBLIC) t.equal(targets.check(urlOf(address)), null, address);
  for (const address of SPECIAL) t.type(targets.check(urlOf(address)), "string", address);
});

t.test("an address is the same in whatever form it is written, and a URL has no credentials", async (t) => {
  t.equal(targets.check(new URL("http://localhost/")), null);
  const refused = [
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "ftp://127.0.0.1/",
    "file:///etc/passwd",
    "http://user:secret@127.0.0.1/",
  ];
  for (const url of refused) t.type(targets.check(new URL(url)), "string", url);
});

t.test("a name is refused when any of its addresses is", async (t) => {
  const looked = (...addresses: string[]): Promise<string | LookupAddress[]> =>
    new Promise((resolve) => {
      const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
      const lookup = targets.lookup((_name, _options, resolved) => resolved(null, found));
      lookup("name.example", { all: true }, (error, result) => resolve(error?.message ?? (result as LookupAddress[])));
    });
  for (const address of SPECIAL) {
    const advice = targets.check(urlOf(address))?.replace(/^address .* is not allowed/, "");
    t.equal(await looked("93.184.216.34", address), `name.example resolves to ${address}, which is not allowed${advice}`);
  }
  t.same(await looked("93.184.216.34", "2606:4700::1"), [
    { address: "93.184.216.34", family: 4 },
    { address: "2606:4700::1", family: 6 },
  ]);
  t.match(await looked(), /resolves to nothing/);
});

t.test("a refused address names the setting that can allow its network, and none where none can", async (t) => {
  const setting = "; [webhooks] allow in millrace.toml can allow its network";
  for (const address of ["10.1.2.3", "192.168.7.7", "100.64.0.1", "fd12::1"])
    t.ok(targets.check(urlOf(address))?.endsWith(`is not allowed${setting}`), address);
  for (const address of ["169.254.169.254", "fd00:ec2::254", "64:ff9b::a9fe:a9fe"])
    t.match(targets.check(urlOf(address)), /is not allowed$/, address);
});

t.test("networks of the configuration are allowed, metadata addresses never", async (t) => {
  const open = new Targets(["192.168.0.0/16", "10.1.2.3/32", "fd00::/8", "169.254.0.0/16", "0.0.0.0/1", "::/0"]);
  for (const address of ["192.168.7.7", "10.1.2.3", "10.9.9.9", "fd12::1", "93.184.216.34", "127.0.0.1", "100.64.0.1"])
    t.equal(open.check(urlOf(address)), null, address);
  const metadata = ["169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"];
  const inside = ["fd20:ce::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::1"];
  for (const address of [...metadata, ...inside, "fe80::a9fe:a9fe"]) t.type(open.check(urlOf(address)), "string", address);
  const one = new Targets(["10.1.2.3/32"]);
  t.equal(one.check(urlOf("10.1.2.3")), null);
  t.type(one.check(urlOf("10.1.2.4")), "string");
});
