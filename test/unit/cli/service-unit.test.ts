import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { serviceUnit, type UnitFacts } from "#cli/home/service-unit";

const OWN: UnitFacts = {
  servedDir: "/data/my flows",
  home: "/data/100%",
  port: "4271",
  command: ["/opt/node", "--conditions=x", "/opt/$lib/main.js"],
  drainSecs: 0,
  drainFlag: false,
  user: null,
  stateDirectory: null,
};

t.test("a unit starts the same command line, and a word that systemd would read otherwise is escaped", async (t) => {
  const unit = serviceUnit(OWN);
  t.match(
    unit,
    'ExecStart=/opt/node --conditions=x /opt/$$lib/main.js serve "/data/my flows" --home /data/100%% --no-open --port 4271\n',
  );
  t.match(unit, "WorkingDirectory=/data/my flows\n");
  t.match(unit, "EnvironmentFile=-/data/100%%/service.env\n");
  t.match(unit, /RestartPreventExitStatus=3\nKillMode=process\nTimeoutStopSec=30\n/);
  t.notMatch(unit, /User=|NoNewPrivileges|StateDirectory/);
  t.notMatch(serviceUnit({ ...OWN, port: undefined }), "--port");
});

t.test("a stop may last as long as the drain and its end, and then ends the engines too", async (t) => {
  const unit = serviceUnit({ ...OWN, drainSecs: 300, drainFlag: true });
  t.match(unit, / --drain 300s\n/);
  t.match(unit, /KillMode=mixed\nTimeoutStopSec=330\n/);
  const settings = serviceUnit({ ...OWN, drainSecs: 300 });
  t.match(settings, /KillMode=mixed\nTimeoutStopSec=330\n/);
  t.notMatch(settings, "--drain", "the settings have it");
});

t.test("a unit of the system runs as a user, with protections that leave flows alone", async (t) => {
  const unit = serviceUnit({ ...OWN, user: "millrace", stateDirectory: "millrace", home: "/var/lib/millrace" });
  t.match(unit, /\nUser=millrace\nStateDirectory=millrace\nStateDirectoryMode=0700\n/);
  t.match(unit, "\nWantedBy=multi-user.target\n");
  t.match(unit, "\nNoNewPrivileges=yes\nProtectSystem=full\n");
  t.notMatch(unit, /MemoryDenyWriteExecute|PrivateDevices|PrivateTmp|ProtectHome|RestrictNamespaces|RestrictAddressFamilies/);
});

const NO_SYSTEMD = spawnSync("systemd-analyze", ["--version"]).status === 0 ? false : "systemd-analyze is not installed";
t.test("systemd finds no fault in the units", { skip: NO_SYSTEMD }, async (t) => {
  const dir = t.testdir({ folder: {} });
  const verify = (name: string, unit: string, manager: "--user" | "--system") => {
    const path = join(dir, `${name}.service`);
    writeFileSync(path, unit);
    const env = { ...process.env, XDG_RUNTIME_DIR: dir };
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", manager, "--man=no", path], { encoding: "utf8", env });
    return { status, faults: stderr.split("\n").filter((line) => line.includes(`${name}.service`)) };
  };
  const facts = { ...OWN, servedDir: join(dir, "folder"), home: join(dir, "folder"), command: [process.execPath, "--expose-gc"] };
  const system = serviceUnit({ ...facts, user: "root", stateDirectory: "millrace" });
  t.same(verify("own", serviceUnit(facts), "--user"), { status: 0, faults: [] });
  t.same(verify("drained", serviceUnit({ ...facts, drainSecs: 60, drainFlag: true }), "--user"), { status: 0, faults: [] });
  t.same(verify("system", system, "--system"), { status: 0, faults: [] });
  t.match(verify("wrong", system.replace("NoNewPrivileges", "NoPrivileges"), "--system").faults, [/Unknown key/]);
});
