/** Whether there are addresses enough for the threads of a server: the first that cannot be made aborts the process. */

/** Each thread reserves addresses that it hardly uses. */
const ADDRESS_SPACE_BYTES_MIN = 4 * 1024 ** 3;

export class AddressSpaceError extends Error {
  override readonly name = "AddressSpaceError";
}

/** @throws AddressSpaceError where `bytes`, the limit of the process, is too little. */
export function checkAddressSpace(bytes: number): void {
  if (bytes >= ADDRESS_SPACE_BYTES_MIN) return;
  const megabytes = Math.floor(bytes / 1024 ** 2);
  throw new AddressSpaceError(`addresses are limited to ${megabytes} MiB (ulimit -v), too little for the threads of a server`);
}
