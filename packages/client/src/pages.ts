import { ApiPromise } from './api-promise.ts';
import { traced } from './call-site.ts';

/** One page of a list. Iterating over it continues with the following pages. */
export class Page<Item> implements AsyncIterable<Item> {
  /** What this page holds. */
  readonly data: readonly Item[];
  /** Continues the list after this page: pass it as `cursor`, with the same `status`. `undefined` on the last page. */
  readonly nextCursor: string | undefined;
  readonly #request: (cursor: string) => PagePromise<Item>;

  constructor(
    data: readonly Item[],
    nextCursor: string | undefined,
    request: (cursor: string) => PagePromise<Item>,
  ) {
    this.data = data;
    this.nextCursor = nextCursor;
    this.#request = request;
  }

  hasNextPage(): boolean {
    return this.nextCursor !== undefined;
  }

  /** @throws TypeError on the last page */
  getNextPage(): PagePromise<Item> {
    if (this.nextCursor === undefined) throw new TypeError('This is the last page: ask hasNextPage() first.');
    return this.#request(this.nextCursor);
  }

  /** This page and those that follow. A page is requested when the loop asks for it. */
  pages(): AsyncGenerator<Page<Item>, void, undefined> {
    return traced(this.#pages());
  }

  [Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    return traced(itemsOf(this.#pages()));
  }

  async *#pages(): AsyncGenerator<Page<Item>, void, undefined> {
    // A loop, not a delegation to the next page, which would keep every page in memory.
    yield this;
    let { nextCursor } = this;
    while (nextCursor !== undefined) {
      const page: Page<Item> = await this.#request(nextCursor);
      yield page;
      nextCursor = page.nextCursor;
    }
  }
}

/** A promise of the first page. Iterating over it goes through the items of all pages. */
export class PagePromise<Item> extends ApiPromise<Page<Item>> implements AsyncIterable<Item> {
  /**
   * All pages, one by one.
   *
   * @example
   * for await (const { data } of store.pets.list({ limit: 100 }).pages()) await save(data);
   */
  pages(): AsyncGenerator<Page<Item>, void, undefined> {
    return traced(this.#pages());
  }

  [Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    return traced(itemsOf(this.#pages()));
  }

  async *#pages(): AsyncGenerator<Page<Item>, void, undefined> {
    yield* (await this).pages();
  }
}

async function* itemsOf<Item>(pages: AsyncIterable<Page<Item>>): AsyncGenerator<Item, void, undefined> {
  for await (const { data } of pages) yield* data;
}
