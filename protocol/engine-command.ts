/** The line of millrace.toml that sets the engine of modules in other languages. */

/** Example command of an engine, by file extension. */
const PROGRAMS: Readonly<Record<string, string>> = {
  ".py": "python3 engine.py",
  ".rb": "ruby engine.rb",
  ".php": "php engine.php",
  ".jar": "java -jar engine.jar",
};

/** `"*.py" = "python3 engine.py"`, for use under [engines]. A module with another extension is written in full. */
export function engineLine(module: string): string {
  const ending = /\.\w+$/.exec(module)?.[0] ?? "";
  const program = Object.hasOwn(PROGRAMS, ending) ? PROGRAMS[ending] : undefined;
  const pattern = program === undefined ? module : `*${ending}`;
  return `${JSON.stringify(pattern)} = ${JSON.stringify(program ?? "./engine")}`;
}
