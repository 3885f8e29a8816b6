/**
 * Checks that the process has enough address space for the threads of a server: a thread that cannot be created aborts the
 * process.
 */

/** Each thread reserves address space, most of which it never uses. */
const ADDRESS_SPACE_BYTES_MIN = 4 * 1024 ** 3;

export class AddressSpaceError extends Error {
  override readonly name = "AddressSpaceError";
}

/** @throws AddressSpaceError if `bytes`, the limit of the process, is too small. */
export function checkAddressSpace(bytes: number): void {
  if (bytes >= ADDRESS_SPACE_BYTES_MIN) return;
  const megabytes = Math.floor(bytes / 1024 ** 2);
  throw new AddressSpaceError(`addresses are limited to ${megabytes} MiB (ulimit -v), too little for the threads of a server`);
}
