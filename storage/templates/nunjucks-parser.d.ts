declare module "nunjucks/src/parser.js" {
  /** The tree of a template; throws what is wrong with it. */
  export function parse(text: string, extensions: unknown[], options: Record<string, unknown>): unknown;
}
