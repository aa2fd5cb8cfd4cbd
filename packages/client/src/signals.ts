const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back once the signal is aborted. All calls share one listener, because Node.js warns of more than ten.
 *
 * @returns what ends that
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {};
  const ofSignal = callbacks.get(signal) ?? new Set();
  callbacks.set(signal, ofSignal.add(callback));
  // It is the same function, so it is added once.
  signal.addEventListener('abort', callAll);
  return () => {
    ofSignal.delete(callback);
    if (ofSignal.size === 0) signal.removeEventListener('abort', callAll);
  };
}

function callAll(this: AbortSignal): void {
  for (const callback of callbacks.get(this) ?? []) callback();
}
