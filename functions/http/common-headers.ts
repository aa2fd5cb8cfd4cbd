/** Headers of every answer, of the functions and of API Gateway itself. Beside them, each has X-Request-Id and X-RateLimit-*. */
export const fixedHeaders = { 'Cache-Control': 'no-store' } as const;

export const requestIdHeader = 'X-Request-Id';
