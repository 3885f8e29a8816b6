import t from "tap";
import { serviceUnit } from "#cli/home/service";

t.test("a unit starts the same command line, and a word that systemd would read otherwise is escaped", async (t) => {
  const unit = serviceUnit({
    servedDir: "/data/my flows",
    home: "/data/100%",
    port: "4271",
    command: ["/opt/node", "--conditions=x", "/opt/$lib/main.js"],
  });
  t.match(
    unit,
    'ExecStart=/opt/node --conditions=x /opt/$$lib/main.js serve "/data/my flows" --home /data/100%% --no-open --port 4271\n',
  );
  t.match(unit, "WorkingDirectory=/data/my flows\n");
  t.match(unit, "EnvironmentFile=-/data/100%%/service.env\n");
  t.match(unit, /RestartPreventExitStatus=3\nKillMode=process\n/);
  t.notMatch(serviceUnit({ servedDir: "/a", home: "/b", port: undefined, command: ["n"] }), "--port");
});
