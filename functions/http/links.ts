/** A `Link` to the next page (RFC 8288). */
export function nextLink(url: string, query: Readonly<Record<string, string | number | bigint>>): string {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return `<${url}?${new URLSearchParams(parameters).toString()}>; rel="next"`;
}

/** A `Link` to what replaces an operation (RFC 5829). */
export function successorLink(url: string): string {
  return `<${url}>; rel="successor-version"`;
}

/** The URL of an item of the collection at `url`. */
export function itemUrl(url: string, id: bigint): string {
  return `${withoutTrailingSlash(url)}/${id}`;
}

/** The URL of the collection that contains the item at `url`. */
export function collectionUrl(url: string): string {
  return withoutTrailingSlash(url).replace(/\/[^/]*$/, '');
}

function withoutTrailingSlash(url: string): string {
  return url.replace(/\/$/, '');
}
