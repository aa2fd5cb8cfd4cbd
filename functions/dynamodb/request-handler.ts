import { NodeHttpHandler } from '@smithy/node-http-handler';

/** @param timeouts milliseconds that one attempt waits for its connection, and in total. Default: no limit */
export function newRequestHandler({
  connectionTimeout,
  requestTimeout,
}: {
  readonly connectionTimeout?: number | undefined;
  readonly requestTimeout?: number | undefined;
}): NodeHttpHandler {
  return new NodeHttpHandler({
    ...(connectionTimeout !== undefined && { connectionTimeout }),
    ...(requestTimeout !== undefined && {
      requestTimeout,
      // Without it the request time-out only logs a warning.
      throwOnRequestTimeout: true,
      // Ends an answer that stops after its headers.
      socketTimeout: requestTimeout,
    }),
  });
}
