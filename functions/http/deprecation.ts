/** When an operation is deprecated and removed, and what replaces it. */
export interface Deprecation {
  readonly since: Date;
  readonly removal: Date;
  /** URL of the replacement, unless the answer has a more specific `Link`. */
  readonly successor: string;
}

/** The UTC dates of `GET /pets/{petId}` (docs/interface.md#43-get-an-animal-deprecated). IDs begin in 2026. */
export const getPetDates = { since: '2026-01-01', removal: '2030-12-05' } as const;

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a `Link` to the successor (RFC 5829). */
export function deprecationHeaders({ since, removal, successor }: Deprecation): Record<string, string> {
  return {
    Deprecation: `@${since.getTime() / 1000}`,
    Sunset: removal.toUTCString(),
    Link: successorLink(successor),
  };
}

/** A `Link` to what replaces an operation (RFC 5829). */
export function successorLink(url: string): string {
  return `<${url}>; rel="successor-version"`;
}
