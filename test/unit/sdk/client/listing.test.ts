import t from "tap";
import { Listing, type Page } from "#sdk/client/listing";

/** Numbers 1 to `total` in pages of three; records the requested cursors. */
function numbers(total: number): { listing: Listing<number>; asked: (number | null)[] } {
  const asked: (number | null)[] = [];
  const listing = new Listing<number>(async (cursor): Promise<Page<number>> => {
    asked.push(cursor);
    const from = (cursor ?? 0) + 1;
    const items = Array.from({ length: 3 }, (_, index) => from + index).filter((item) => item <= total);
    return { items, next_cursor: from + 2 < total ? from + 2 : null };
  });
  return { listing, asked };
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

t.test("iteration goes over all pages, and starts over each time", async (t) => {
  const { listing, asked } = numbers(7);
  t.same(await all(listing), [1, 2, 3, 4, 5, 6, 7]);
  t.same(asked, [null, 3, 6]);
  t.same(await all(listing), [1, 2, 3, 4, 5, 6, 7]);
});

t.test("leaving the loop asks for no further page", async (t) => {
  const { listing, asked } = numbers(100);
  for await (const item of listing) if (item === 2) break;
  t.same(asked, [null]);
  t.same(await listing.first(4), [1, 2, 3, 4]);
  t.same(asked, [null, null, 3]);
  t.same(await listing.first(0), []);
});

t.test("an empty list has one empty page", async (t) => {
  const { listing } = numbers(0);
  t.same(await all(listing.pages()), [[]]);
  t.same(await listing.page(), { items: [], next_cursor: null });
});
