/** The life of an operation that is on its way out. */
export interface Deprecation {
  /** Since when clients should no longer use it. */
  readonly since: Date;
  /** When it is removed. */
  readonly removal: Date;
  /** The URL of what replaces it. */
  readonly successor: string;
}

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a `Link` to the successor (RFC 5829). */
export function deprecationHeaders({
  since,
  removal,
  successor,
}: Deprecation): Readonly<Record<string, string>> {
  return {
    Deprecation: `@${since.getTime() / 1000}`,
    Sunset: removal.toUTCString(),
    Link: `<${successor}>; rel="successor-version"`,
  };
}
