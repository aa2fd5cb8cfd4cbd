// Stands in for @http-client-toolkit/core, which the package of its DynamoDB stores needs and which is not published. Only the stores
// of rate limits use it, and none of them is run here.
export const DEFAULT_RATE_LIMIT = { limit: 60, windowMs: 60_000 };
export function AdaptiveCapacityCalculator() {}
