import { exec, flow, log, sh, Type } from "millrace";

/** Children of many kinds: in the group, in groups of their own, without a parent, deaf to SIGTERM. */
const TREE = `
i=0
while [ $i -lt 10 ]; do
  sleep 300 &
  sh -c "sleep 300; true" &
  setsid sh -c "sleep 300; true" &
  (trap '' TERM; while :; do sleep 0.2; done) &
  i=$((i + 1))
done
echo started
wait
`;

export const tree = flow("tree", async () => {
  await sh({ shell: "/bin/sh" })`eval ${TREE}`;
});

export const lines = flow(
  "lines",
  { parameters: Type.Object({ count: Type.Integer(), width: Type.Integer() }) },
  async ({ count, width }) => {
    const program = `let n = 0; const step = () => { while (n < ${count}) { n += 1; if (!process.stdout.write(String(n).padEnd(${width}, ".") + "\\n")) return process.stdout.once("drain", step); } }; step();`;
    const { stdoutBytes } = await exec(process.execPath, ["-e", program]);
    return stdoutBytes;
  },
);

export const live = flow("live", async () => {
  await sh`echo first; read line <&2 2>/dev/null; sleep 300`;
});

export const background = flow("background", async () => {
  const { stdout } = await sh`sleep 300 & echo $!; setsid --fork sleep 301 >/dev/null 2>&1`;
  log.info(`pids ${stdout.trim()}`);
});
