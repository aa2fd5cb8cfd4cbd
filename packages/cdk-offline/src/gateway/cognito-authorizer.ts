import { z } from 'zod';
import type { Authorization } from './authorizer.ts';
import { type GatewayError, gatewayErrors } from './gateway-responses.ts';
import type { CognitoAuthorizer } from './read-authorizers.ts';

const claimsOfToken = z.looseObject({
  iss: z.string(),
  exp: z.number(),
  token_use: z.string(),
  scope: z.string().optional(),
});

/**
 * Decides about a token of a Cognito user pool as API Gateway does, but does not verify its signature: the pool and its keys
 * exist on AWS only. Without scopes of the method it takes identity tokens, with scopes access tokens that have one of them.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-enable-cognito-user-pool.html
 *
 * @param value of the identity source, with or without `Bearer`
 * @param now milliseconds since the Unix epoch
 */
export function authorizeByPool(
  { issuers, validation }: CognitoAuthorizer,
  scopes: readonly string[],
  value: string | undefined,
  now: number,
): Authorization {
  const refuse = (
    functionError: string,
    error: GatewayError = gatewayErrors.unauthorized,
  ): Authorization => ({
    granted: false,
    error,
    functionError,
  });
  if (value === undefined || value === '') return refuse('no token');
  const parsed = claimsOfToken.safeParse(payloadOf(value));
  if (!parsed.success) return refuse('the token has no claims iss, exp and token_use');
  const { iss, exp, token_use: use, scope } = parsed.data;
  if (!issuers.includes(iss)) return refuse(`the token is of ${iss}, not of ${issuers.join(' or ')}`);
  if (exp * 1000 <= now) return refuse('the token has expired', gatewayErrors.tokenExpired);
  if (validation?.test(String(parsed.data['aud'])) === false)
    return refuse('the token is for another client');
  const wanted = scopes.length === 0 ? 'id' : 'access';
  if (use !== wanted) return refuse(`the method needs an ${wanted} token, and this is an ${use} token`);
  if (wanted === 'access' && scope?.split(' ').some((one) => scopes.includes(one)) !== true) {
    return refuse(`the token has none of the scopes ${scopes.join(', ')}`, gatewayErrors.accessDenied);
  }
  const claims = Object.entries(parsed.data).map(([name, claim]) => [name, textOf(name, claim)]);
  const authorizer = { claims: Object.fromEntries(claims) as Record<string, string> };
  return { granted: true, identity: { usageIdentifierKey: undefined, authorizer } };
}

function payloadOf(token: string): unknown {
  const [, payload = ''] = token.replace(/^Bearer\s+/i, '').split('.');
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** Functions get texts: lists with commas, times as `Fri Jul 29 18:52:53 UTC 2016`. */
function textOf(name: string, claim: unknown): string {
  if (Array.isArray(claim)) return claim.map((item) => textOf('', item)).join(',');
  if (typeof claim === 'object' && claim !== null) return JSON.stringify(claim);
  if (typeof claim !== 'number' || !['exp', 'iat'].includes(name)) return String(claim);
  const [weekday = '', day, month, year, clock] = new Date(claim * 1000).toUTCString().split(' ');
  return `${weekday.replace(',', '')} ${month} ${day} ${clock} UTC ${year}`;
}
