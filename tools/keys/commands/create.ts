import { Option } from '@commander-js/extra-typings';
import { type Open, stageCommand } from '../command.ts';
import { issue, type KeyRequest, type NewKey } from '../issue.ts';
import { checkLimits, line, perDayOption, perMinuteOption, planOption } from '../options.ts';
import type { KeyService } from '../service.ts';
import { issuedText } from '../views.ts';

export const create = (open: Open) =>
  stageCommand(
    'create',
    'issue an API key and show it once',
    '--stage local --owner "Ada Lovelace" --plan enterprise --per-minute 6000 --per-day 1000000',
    'On AWS a new key becomes usable some seconds later. Until then requests can get 401.',
  )
    .addOption(
      new Option('--owner <name>', 'who uses the key (required)').argParser(line(100)).makeOptionMandatory(),
    )
    .addOption(planOption('plan of the key (required)').makeOptionMandatory())
    .addOption(perMinuteOption())
    .addOption(perDayOption())
    .option('--note <text>', 'what the key is for', line(200))
    .action((options) => {
      const { owner, plan, note } = options;
      const limits = checkLimits(plan, options);
      return open(options, async ({ service, output }) => {
        await issue(service, { owner, plan, limits, note }, (issued) =>
          output.reveal(issued, issuedText(issued)),
        );
        output.note('The key is valid. API Gateway can need some seconds until it accepts it everywhere.');
      });
    });

/** Issues a key without showing it. */
export function createKey(service: KeyService, request: KeyRequest): Promise<NewKey> {
  return issue(service, request, () => {});
}
