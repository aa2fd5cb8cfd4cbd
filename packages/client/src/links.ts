/** The target of `rel="next"` in a `Link` header (RFC 8288), or `undefined` on the last page. */
export function nextTarget(link: string | null): string | undefined {
  for (const [, target, parameters = ''] of (link ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    if (/;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\s*(?:[;,]|$))/i.test(parameters)) return target;
  }
  return undefined;
}
