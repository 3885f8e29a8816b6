/** How the command line of an engine of the compiled package is recognised. */
export const ENGINE_PROGRAM = "sdk/engine/main.js";
