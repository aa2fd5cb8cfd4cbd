import { Option } from '@commander-js/extra-typings';
import { type Open, stageCommand } from '../command.ts';
import { createKey, issuedText } from '../issue.ts';
import { checkLimits, line, perDayOption, perMinuteOption, planOption } from '../options.ts';

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
    .addOption(planOption)
    .addOption(perMinuteOption)
    .addOption(perDayOption)
    .option('--note <text>', 'what the key is for', line(200))
    .action((options) => {
      checkLimits(options);
      return open(options, async ({ service, output }) => {
        const { owner, plan, perMinute, perDay, note } = options;
        const request = { owner, plan, perMinute, perDay, note };
        await createKey(service, request, (issued) => output.reveal(issued, issuedText(issued)));
        output.note('The key is valid. API Gateway can need some seconds until it accepts it everywhere.');
      });
    });
