/** The line of millrace.toml that names the engine of modules in other languages. */

/** The command of an engine, as an example, by the ending of the files that it runs. */
const PROGRAMS: Readonly<Record<string, string>> = {
  ".py": "python3 engine.py",
  ".rb": "ruby engine.rb",
  ".php": "php engine.php",
  ".jar": "java -jar engine.jar",
};

/** `"*.py" = "python3 engine.py"`, to stand under [engines]. A module that ends otherwise is named itself. */
export function engineLine(module: string): string {
  const ending = /\.\w+$/.exec(module)?.[0] ?? "";
  const program = Object.hasOwn(PROGRAMS, ending) ? PROGRAMS[ending] : undefined;
  const pattern = program === undefined ? module : `*${ending}`;
  return `${JSON.stringify(pattern)} = ${JSON.stringify(program ?? "./engine")}`;
}
