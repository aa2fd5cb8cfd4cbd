import { ApiPromise } from './api-promise.ts';
import { traced } from './call-site.ts';
import { InvalidAnswerError } from './errors.ts';

/** How far a list has come, in constant memory: one of its cursors, and the pages since then. */
export interface Trail {
  readonly cursor: string | undefined;
  readonly pages: number;
  /** Pages until a later cursor is kept instead: doubled each time (Brent's algorithm). */
  readonly until: number;
}

/** @param cursor of the first page */
export function newTrail(cursor: string | undefined): Trail {
  return { cursor, pages: 0, until: 1 };
}

/** The trail with one page more. @throws InvalidAnswerError when the pages run in a circle, after three times its length at most */
export function follow({ cursor, pages, until }: Trail, next: string): Trail {
  if (next === cursor) throw new InvalidAnswerError('The list does not end: its pages run in a circle.');
  return pages + 1 === until
    ? { cursor: next, pages: 0, until: until * 2 }
    : { cursor, pages: pages + 1, until };
}

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
    // A delegation to the next page would keep every page in memory.
    yield this;
    let { nextCursor } = this;
    let request = this.#request;
    while (nextCursor !== undefined) {
      const page: Page<Item> = await request(nextCursor);
      yield page;
      nextCursor = page.nextCursor;
      // The next page knows the pages before, so that it finds a circle.
      request = page.#request;
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
