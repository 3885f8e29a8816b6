/** File names of modules that engines of Millrace load: TypeScript and JavaScript, as modules of either kind. */
export const FLOW_MODULE = /\.[cm]?[tj]s$/;
