/**
 * Maps a path to its endpoint. Built once; a path without parameters is one look-up in a map, a path with parameters walks a
 * tree of segments. Segments are compared as sent, so the routed path is exactly the checked path.
 */

/** The endpoints of one path, by method. GET also serves HEAD. */
export class MethodTable<Endpoint> {
  readonly #endpoints = new Map<string, Endpoint>();
  /** The `allow` header. */
  allow = "OPTIONS";

  add(method: string, endpoint: Endpoint): void {
    this.#endpoints.set(method, endpoint);
    if (method === "GET") this.#endpoints.set("HEAD", endpoint);
    this.allow = [...this.#endpoints.keys(), "OPTIONS"].join(", ");
  }

  get(method: string): Endpoint | undefined {
    return this.#endpoints.get(method);
  }
}

export interface Match<Endpoint> {
  methods: MethodTable<Endpoint>;
  /** Values of the path parameters, in order, not decoded. */
  values: readonly string[];
}

interface Node<Endpoint> {
  fixed: Map<string, Node<Endpoint>>;
  parameter: Node<Endpoint> | null;
  methods: MethodTable<Endpoint> | null;
}

const NO_VALUES: readonly string[] = [];

export class Router<Endpoint> {
  readonly #whole = new Map<string, Match<Endpoint>>();
  readonly #root: Node<Endpoint> = emptyNode();

  /** `path` has its parameters in braces: /api/runs/{id}. */
  add(method: string, path: string, endpoint: Endpoint): void {
    if (path.includes("{")) this.#methodsAt(path).add(method, endpoint);
    else this.#wholeAt(path).add(method, endpoint);
  }

  match(path: string): Match<Endpoint> | null {
    return this.#whole.get(path) ?? this.#walk(path);
  }

  #walk(path: string): Match<Endpoint> | null {
    const values: string[] = [];
    let node: Node<Endpoint> | null = this.#root;
    let start = 1;
    while (start <= path.length) {
      const slash = path.indexOf("/", start);
      const end = slash === -1 ? path.length : slash;
      const segment = path.slice(start, end);
      const fixed: Node<Endpoint> | undefined = node.fixed.get(segment);
      if (fixed === undefined) {
        node = segment === "" ? null : node.parameter;
        if (node === null) return null;
        values.push(segment);
      } else {
        node = fixed;
      }
      start = end + 1;
      if (slash !== -1 && start === path.length + 1) return null;
    }
    return node.methods === null ? null : { methods: node.methods, values };
  }

  #wholeAt(path: string): MethodTable<Endpoint> {
    const known = this.#whole.get(path);
    if (known !== undefined) return known.methods;
    const made = { methods: new MethodTable<Endpoint>(), values: NO_VALUES };
    this.#whole.set(path, made);
    return made.methods;
  }

  #methodsAt(path: string): MethodTable<Endpoint> {
    let node = this.#root;
    for (const segment of path.slice(1).split("/")) node = segment.startsWith("{") ? parameterOf(node) : fixedOf(node, segment);
    node.methods ??= new MethodTable<Endpoint>();
    return node.methods;
  }
}

function emptyNode<Endpoint>(): Node<Endpoint> {
  return { fixed: new Map(), parameter: null, methods: null };
}

function parameterOf<Endpoint>(node: Node<Endpoint>): Node<Endpoint> {
  node.parameter ??= emptyNode();
  return node.parameter;
}

function fixedOf<Endpoint>(node: Node<Endpoint>, segment: string): Node<Endpoint> {
  const known = node.fixed.get(segment);
  if (known !== undefined) return known;
  const made = emptyNode<Endpoint>();
  node.fixed.set(segment, made);
  return made;
}
