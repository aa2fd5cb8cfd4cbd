interface Page {
  readonly window?: { readonly document?: unknown };
  readonly location?: { readonly origin: string };
}

/** Other runtimes have a `window` at most. */
export function isBrowser(): boolean {
  return (globalThis as Page).window?.document !== undefined;
}

/** Whether a page needs CORS headers to read what this address answers. */
export function needsCors(baseUrl: string): boolean {
  return isBrowser() && (globalThis as Page).location?.origin !== new URL(baseUrl).origin;
}
