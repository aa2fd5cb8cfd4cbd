import { refusal, type Service, type Tables } from 'dynamodb-interleavings';
import type { World as SimulatedWorld } from 'dynamodb-interleavings/simulation';
import { planNames } from '../../functions/access/plans.ts';
import { tableNames } from '../../functions/tables.ts';
import { titleCase } from '../../lib/title-case.ts';
import { ApiKeyStore } from '../../tools/contributors/local/api-keys.ts';
import type { ManagementRequest } from '../../tools/contributors/local/aws-services.ts';
import type { HttpResponse } from '../../tools/contributors/local/http.ts';

/** Where the stage is in API Gateway. */
export const place = { apiId: 'api', stage: 'v1' };
/** The outputs of the deployed stack. */
export const outputs = {
  RestApiId: place.apiId,
  ...Object.fromEntries(tableNames.map((name) => [`${titleCase(name)}TableName`, titleCase(name)] as const)),
  ...Object.fromEntries(planNames.map((name) => [`UsagePlanId${titleCase(name)}`, name])),
};

/** Made at the time of the world, not of this machine, with IDs in the order in which they were made. */
export class KeysOfWorld extends ApiKeyStore {
  readonly #time: SimulatedWorld;
  #made: number;

  /** @param from whose keys are copied. An ID that was deleted there is not given again, as on AWS */
  constructor(time: SimulatedWorld, from?: KeysOfWorld) {
    super(from?.snapshot());
    this.#time = time;
    this.#made = from === undefined ? 0 : from.#made;
  }

  override create(given: Parameters<ApiKeyStore['create']>[0]): ReturnType<ApiKeyStore['create']> {
    this.#made += 1;
    return super.create({ id: String(this.#made).padStart(10, '0'), ...given }, this.#time.now);
  }
}

/** A service of AWS, for the network. */
export function serviceOf(
  answer: (request: ManagementRequest) => HttpResponse | Promise<HttpResponse>,
): Service {
  return {
    answer: async ({ query, body, ...request }) => {
      const parameters = Object.entries(query).flatMap(([name, value]) =>
        [value ?? ''].flat().map((each) => [name, each] as [string, string]),
      );
      const asked = { ...request, query: new URLSearchParams(parameters), body: Buffer.from(body) };
      const { status, headers, body: answered } = await answer(asked);
      return {
        statusCode: status,
        headers: Object.fromEntries(headers),
        body: answered.toString(),
      };
    },
  };
}

/** Who makes the calls. */
export function answerSts(): HttpResponse {
  const result =
    '<GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/local</Arn></GetCallerIdentityResult>';
  const body = Buffer.from(`<GetCallerIdentityResponse>${result}</GetCallerIdentityResponse>`);
  return { status: 200, headers: [['Content-Type', 'text/xml']], body };
}

/** Its keys are parts of their own: only calls about the same one, or about all, are run in both orders. */
export function gatewayOf(
  keys: ApiKeyStore,
  tables: Tables,
  answer: Parameters<typeof serviceOf>[0],
): Service {
  const { answer: answerAll } = serviceOf(answer);
  const valueOf = (id: string) => keys.keys().find((key) => key.id === id)?.value ?? id;
  return {
    uses: ({ method, path, body }) => {
      const access = method === 'GET' ? 'read' : 'write';
      if (path.endsWith('/authorizers')) return { cache: access };
      const { value, keyId } = JSON.parse(body || '{}') as {
        readonly value?: string;
        readonly keyId?: string;
      };
      const id = keyId ?? /\/(?:api)?keys\/(\w+)$/.exec(path)?.[1];
      return { [value ?? (id === undefined ? 'keys' : valueOf(id))]: access };
    },
    answer: (request) => {
      if (request.method !== 'GET') tables.footprint.add('apigateway keys', 'mark');
      return answerAll(request);
    },
    refusals: {
      conflict: refusal(
        409,
        'ConflictException',
        'Unable to complete operation due to concurrent modification. Please try again later.',
      ),
    },
  };
}
