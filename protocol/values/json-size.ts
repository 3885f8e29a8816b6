/** The size of JSON text: every limit on free-form values counts its bytes. */

/** UTF-8 has at most three bytes for each UTF-16 unit, so only long texts need the exact count. */
export function exceedsBytes(text: string, bytesMax: number): boolean {
  return text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax;
}
