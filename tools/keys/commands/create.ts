import { Option } from 'commander';
import { z } from 'zod';
import { planNames } from '../../../functions/access/plans.ts';
import { stageCommand } from '../command.ts';
import { issue, type IssuedKey, type Reveal } from '../issue.ts';
import { limitsOptions, planOption } from '../options.ts';
import { checkRequest, type KeyRequest } from '../requests.ts';
import type { KeyService } from '../service.ts';
import { issuedJson, issuedText } from '../views.ts';

export const create = stageCommand({
  name: 'create',
  summary: 'issue an API key and show it once',
  details: 'On AWS a new key becomes usable some seconds later. Until then requests can get 401.',
  example: '--stage local --owner "Ada Lovelace" --plan enterprise --per-minute 6000 --per-day 1000000',
  options: [
    new Option('--owner <name>', 'who uses the key'),
    planOption('plan of the key'),
    ...limitsOptions(),
    new Option('--note <text>', 'what the key is for'),
  ],
  required: ['--owner', '--plan'],
  schema: z.object({
    owner: z.string(),
    plan: z.enum(planNames),
    note: z.string().optional(),
    perMinute: z.number().optional(),
    perDay: z.number().optional(),
  }),
  run: async ({ service, output, stage }, { perMinute, perDay, ...request }) => {
    await createKey(service, { ...request, limits: { perMinute, perDay } }, (issued) =>
      output.reveal(issuedJson(issued, stage), issuedText(issued)),
    );
    output.note('The key is valid. API Gateway can need some seconds until it accepts it everywhere.');
  },
});

/** @throws KeyToolError when the request breaks a rule; otherwise what AWS throws, with nothing left behind */
export async function createKey(
  service: KeyService,
  request: KeyRequest,
  reveal: Reveal = () => {},
): Promise<IssuedKey> {
  return issue(service, checkRequest(request), reveal);
}
