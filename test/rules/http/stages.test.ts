import { expect, test } from 'vitest';
import { admissionControl, limitRequests } from '../../../functions/http/limit-requests.ts';
import { parseRequests } from '../../../functions/http/request.ts';
import { answerRequests } from '../../../functions/http/respond.ts';
import { Stages } from '../../../functions/http/stages.ts';
import { recordRequests } from '../../../functions/http/telemetry.ts';

// `npm run check` fails if one of these lines compiles.
test('a pipeline in which a stage is left out, or two are swapped, does not compile', () => {
  const record = recordRequests('listPets', 'Test');
  const answer = answerRequests();
  const parse = parseRequests();
  const table = { client: {} as never, tableName: 'RateLimits' };
  const limit = limitRequests(admissionControl({ table, deprecated: false, timeout: 1_000 }));
  const begin = () => Stages.ofEvent();

  const whole = begin().use(record).use(answer).use(parse).use(limit);
  whole.handler(async ({ request, limited }) => {
    await limited;
    return { statusCode: 200, body: request.requestId };
  });

  // @ts-expect-error -- Nothing is recorded.
  begin().use(answer);
  // @ts-expect-error -- Nobody answers errors.
  begin().use(record).use(parse);
  // @ts-expect-error -- There is no request.
  begin().use(record).use(answer).use(limit);
  const unlimited = begin().use(record).use(answer).use(parse);
  // @ts-expect-error -- The request is not limited.
  unlimited.handler(async ({ limited }) => ({ statusCode: 200, body: String(limited) }));
  expect(whole).toBeInstanceOf(Stages);
});
