/** The contents of the published package. */

/** Source folders that are compiled into dist/. */
export const PACKAGED_FOLDERS = [
  "runtime",
  "system",
  "protocol",
  "storage",
  "actors",
  "gateway",
  "server",
  "sdk",
  "cli",
] as const;

/** Folder of dist/ that holds the built dashboard. */
export const DASHBOARD_FOLDER = "dashboard";

/** Folder of dist/ with the libraries, one file each. */
export const LIBRARIES_FOLDER = "libraries";

/**
 * Folder of dist/ with the binaries of the store's driver, where the driver searches for them: beside the folder of
 * libraries.
 */
export const PREBUILDS_FOLDER = "prebuilds";
