/** The major version of Node.js of a runtime such as `nodejs24.x`. */
export function nodeMajor(runtime: string): number {
  return Number(/^nodejs(\d+)/.exec(runtime)?.[1] ?? 0);
}
