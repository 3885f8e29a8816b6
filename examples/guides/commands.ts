import { CommandError, exec, flow, log, sh, Type, task } from "millrace";

const dump = task("dump", { retries: 2, retryDelay: "5s", timeout: "1h" }, async (database: string, file: string) => {
  await sh`sqlite3 ${database} .dump | gzip > ${file}`;
});

export const backup = flow(
  "backup",
  { parameters: Type.Object({ database: Type.String(), folder: Type.String() }) },
  async ({ database, folder }) => {
    const { stdout: now } = await exec("date", ["+%F"], { log: false });
    const file = `${folder}/${now.trim()}.sql.gz`;
    await dump(database, file);
    try {
      await exec("gzip", ["--test", file], { timeout: "10m" });
    } catch (error) {
      if (error instanceof CommandError) log.error(`the backup is damaged: ${error.stderr}`);
      throw error;
    }
    return file;
  },
);
