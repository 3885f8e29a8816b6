declare module "nunjucks/src/parser.js" {
  /** The tree of a template; throws on a syntax error. */
  export function parse(text: string, extensions: unknown[], options: Record<string, unknown>): unknown;
}
