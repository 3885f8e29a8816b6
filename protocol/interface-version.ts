/** Version of the interface that this server speaks; moves on its own, apart from the version of the package. */
export const INTERFACE_VERSION = "1.13.0";
