import t from "tap";
import { checkTarget } from "#actors/outbound/target";

t.test("requests of rules go to loopback and public addresses, in whatever form they are written", async (t) => {
  const allowed = [
    "http://127.0.0.1:8080/x",
    "http://[::1]/",
    "http://localhost/",
    "https://93.184.216.34/",
    "http://[2606:4700::1]/",
  ];
  for (const url of allowed) t.equal(checkTarget(new URL(url)), null, url);
  const refused = [
    "http://169.254.169.254/latest/meta-data",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[::a9fe:a9fe]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://172.20.0.1/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://224.0.0.1/",
    "ftp://127.0.0.1/",
    "file:///etc/passwd",
    "http://user:secret@127.0.0.1/",
  ];
  for (const url of refused) t.type(checkTarget(new URL(url)), "string", url);
});
