/** A browser sends these Host headers only for pages of this machine, which prevents DNS rebinding. */
export function isLocalHost(host: string | undefined): boolean {
  return host !== undefined && /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i.test(host);
}
