import { afterAll, inject } from 'vitest';
import { AnswerValidator } from '../../support/openapi-validator.ts';

/**
 * Setup file of the tests over HTTP: every answer of the service to `fetch` is compared with the OpenAPI document, and one
 * that differs fails the test that asked.
 */
const { url: baseUrl } = inject('service');
const validator = new AnswerValidator();
const plainFetch = globalThis.fetch;
afterAll(() => {
  globalThis.fetch = plainFetch;
});

globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  const response = await plainFetch(request);
  if (!request.url.startsWith(`${baseUrl}/`)) return response;
  // oxlint-disable-next-line eslint/no-restricted-properties -- of an HTTP URL
  const path = new URL(request.url).pathname.slice(new URL(baseUrl).pathname.length);
  const { method } = request;
  const { status, headers } = response;
  const text = await response.clone().text();
  const violations = validator.violations({ method, path, status, headers, text });
  if (violations.length > 0) {
    throw new Error(`${method} ${path} ${status} differs from docs/openapi.yaml: ${violations.join('; ')}`);
  }
  return response;
};
