import dns from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';

/** https://docs.aws.amazon.com/general/latest/gr/rande.html */
const awsHost = /(?:^|\.)(?:amazonaws\.(?:com|com\.cn|eu)|api\.aws|aws\.dev)\.?$/i;

/**
 * Keeps this thread or process from AWS. SDK clients get local endpoints by environment variables; this covers what does
 * not read them, such as version 2 of the SDK and addresses in the code: signed requests go to the local endpoint, other
 * connections to AWS fail. A function with a developer's credentials could change real data.
 */
export function keepFromAws(): void {
  const { lookup } = dns;
  const guarded = (hostname: string, ...rest: readonly unknown[]): void => {
    const callback = rest.at(-1);
    if (awsHost.test(hostname) && typeof callback === 'function') {
      const message = `${hostname} belongs to AWS, and cdk-offline lets no function call AWS`;
      const error = Object.assign(new Error(message), { code: 'ENOTFOUND', hostname });
      process.nextTick(() => callback(error));
    } else {
      Reflect.apply(lookup, dns, [hostname, ...rest]);
    }
  };
  Object.assign(dns, { lookup: Object.assign(guarded, lookup) });

  const { request } = https;
  const redirected = (...args: unknown[]): http.ClientRequest => {
    const local = localRequest(args);
    return local === undefined
      ? (Reflect.apply(request, https, args) as http.ClientRequest)
      : http.request(local.options, local.onResponse);
  };
  Object.assign(https, {
    request: redirected,
    get: (...args: unknown[]) => redirected(...args).end(),
  });
  syncBuiltinESMExports();
}

interface LocalRequest {
  readonly options: http.RequestOptions;
  readonly onResponse: ((response: http.IncomingMessage) => void) | undefined;
}

/** @returns `undefined` for a request that is not signed for AWS */
function localRequest(args: readonly unknown[]): LocalRequest | undefined {
  const [first, second] = args;
  const url = typeof first === 'string' || first instanceof URL ? new URL(first) : undefined;
  const options: http.RequestOptions = Object(url === undefined ? first : second);
  const { AWS_ENDPOINT_URL: endpoint } = process.env;
  const host = options.hostname ?? options.host ?? url?.hostname ?? '';
  const headers = Object.entries(options.headers ?? {}).filter(([name]) => name.toLowerCase() !== 'host');
  const isSigned = headers.some(
    ([name, value]) => name.toLowerCase() === 'authorization' && String(value).startsWith('AWS4-'),
  );
  if (endpoint === undefined || !awsHost.test(host) || !isSigned) return undefined;
  const { hostname, port } = new URL(endpoint);
  const onResponse = args.findLast((arg) => typeof arg === 'function');
  return {
    options: {
      method: options.method,
      // oxlint-disable-next-line eslint/no-restricted-properties -- of an HTTP URL
      path: options.path ?? (url === undefined ? '/' : url.pathname + url.search),
      headers: Object.fromEntries(headers),
      hostname,
      port,
    },
    onResponse: onResponse as LocalRequest['onResponse'],
  };
}
