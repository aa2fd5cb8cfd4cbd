/** When an operation is deprecated and removed: UTC dates. */
export interface Deprecation {
  readonly since: string;
  readonly removal: string;
}

/**
 * `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a `Link` to the successor (RFC 5829).
 *
 * @param successor the URL of the replacement, unless the answer has a more specific `Link`
 */
export function deprecationHeaders(
  { since, removal }: Deprecation,
  successor: string,
): Record<string, string> {
  return {
    Deprecation: `@${new Date(since).getTime() / 1000}`,
    Sunset: new Date(removal).toUTCString(),
    Link: successorLink(successor),
  };
}

/** A `Link` to what replaces an operation (RFC 5829). */
export function successorLink(url: string): string {
  return `<${url}>; rel="successor-version"`;
}
