/** Version of this server's interface; independent of the version of the package. */
export const INTERFACE_VERSION = "1.13.0";
