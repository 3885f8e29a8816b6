/**
 * Records what user code imports in this thread: its files, each as it was just before it was loaded, and which file imports
 * which. Installed packages and this package are not recorded: they do not change while in use.
 */
import { statSync } from "node:fs";
import { registerHooks } from "node:module";
import { resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type LoadedFile, recordFile } from "./loaded-file.ts";

const OWN_PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
/** Specifiers that are paths or file URLs; others (packages, `#imports`) become files only once they are resolved. */
const NAMES_PLACE = /^(?:\.{0,2}\/|file:)/;

export class ImportedFiles {
  readonly #served: string;
  readonly #found: (file: LoadedFile) => void;
  /** Paths by which a module is imported, by its URL. */
  readonly #paths = new Map<string, Set<string>>();
  /** URLs that a module imports, by its URL. An import by absolute URL is also kept under that URL. */
  readonly #imports = new Map<string, Set<string>>();
  readonly #loaded = new Set<string>();
  readonly #known = new Set<string>();

  /**
   * @param sourceDir the served directory
   * @param found receives each file once, before it is loaded, including missing files
   */
  constructor(sourceDir: string, found: (file: LoadedFile) => void) {
    this.#served = `${resolve(sourceDir)}${sep}`;
    this.#found = found;
    registerHooks({
      resolve: (specifier, context, next) => {
        try {
          const resolved = next(specifier, context);
          this.#noteImport(specifier, context.parentURL, resolved.url);
          return resolved;
        } catch (error) {
          this.#noteMissing(specifier, context.parentURL);
          throw error;
        }
      },
      load: (url, context, next) => {
        this.#noteLoad(url);
        return next(url, context);
      },
    });
  }

  /** Paths of all files loaded for a module, its own included. */
  of(modulePath: string): string[] {
    const from = pathToFileURL(modulePath).href;
    const reached = new Set([from]);
    for (const url of reached) for (const imported of this.#imports.get(url) ?? []) reached.add(imported);
    return [...reached].flatMap((url) => (this.#loaded.has(url) ? [...(this.#paths.get(url) ?? [])] : []));
  }

  #noteImport(specifier: string, parent: string | undefined, url: string): void {
    if (!this.#isFollowed(url)) return;
    addTo(this.#paths, url, namedPath(specifier, parent, url));
    if (parent !== undefined) addTo(this.#imports, parent, url);
    if (specifier.startsWith("file:")) addTo(this.#imports, specifier, url);
    if (this.#loaded.has(url)) this.#record(url);
  }

  /** A missing file may be created later: another try of the same import would then load it. */
  #noteMissing(specifier: string, parent: string | undefined): void {
    if (!NAMES_PLACE.test(specifier) || parent?.startsWith("file:") !== true) return;
    const { href } = new URL(specifier, parent);
    if (!this.#isFollowed(href)) return;
    addTo(this.#imports, parent, href);
    this.#noteLoad(href);
  }

  #noteLoad(url: string): void {
    if (!this.#isFollowed(url)) return;
    if (!this.#paths.has(url)) addTo(this.#paths, url, fileURLToPath(url));
    this.#loaded.add(url);
    this.#record(url);
  }

  #record(url: string): void {
    for (const path of this.#paths.get(url) ?? []) {
      if (this.#known.has(path)) continue;
      this.#known.add(path);
      this.#found(recordFile(path));
    }
  }

  #isFollowed(url: string): boolean {
    if (!url.startsWith("file:")) return false;
    const path = fileURLToPath(url);
    return !path.includes(`${sep}node_modules${sep}`) && (!path.startsWith(OWN_PACKAGE) || path.startsWith(this.#served));
  }
}

/** The path as written in the import, so that a changed link on the path is noticed. */
function namedPath(specifier: string, parent: string | undefined, url: string): string {
  const target = fileURLToPath(url);
  if (!NAMES_PLACE.test(specifier) || parent?.startsWith("file:") !== true) return target;
  const named = fileURLToPath(new URL(specifier, parent));
  return statSync(named, { throwIfNoEntry: false })?.isFile() === true ? named : target;
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}
