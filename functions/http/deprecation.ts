/** When an operation is deprecated and removed, and what replaces it. */
export interface Deprecation {
  readonly since: Date;
  readonly removal: Date;
  /** URL of the replacement. */
  readonly successor: string;
}

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a `Link` to the successor (RFC 5829). */
export function deprecationHeaders({ since, removal, successor }: Deprecation): Record<string, string> {
  return {
    Deprecation: `@${since.getTime() / 1000}`,
    Sunset: removal.toUTCString(),
    Link: `<${successor}>; rel="successor-version"`,
  };
}
