import { InvalidArgumentError } from '@commander-js/extra-typings';
import { type Open, stageCommand, yesOption } from '../operator/command.ts';
import { ToolError } from '../operator/errors.ts';
import { isoTime, table } from '../operator/output.ts';
import { defineTool } from '../operator/program.ts';
import {
  type LiveFunction,
  liveFunctions,
  moveTo,
  openVersionService,
  type VersionService,
} from './service.ts';

const help = `Examples:
  npm run versions -- list --stage prod
  npm run versions -- roll-back --stage prod
  npm run versions -- roll-back --stage prod --before 2030-01-31T12:00:00Z

Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 no such stack, 4 refused.
More in docs/runbook.md.`;

const list = (open: Open<VersionService>) =>
  stageCommand('list', 'show the version of each function, and earlier ones', '--stage prod').action(
    (options) =>
      open(options, async ({ service, output }) => {
        const functions = await liveFunctions(service);
        const value = functions.map(({ name, live, versions }) => ({
          function: name,
          live,
          versions: versions.map(({ number, published }) => ({
            version: number,
            published: isoSeconds(published),
          })),
        }));
        const rows = functions.flatMap(({ name, live, versions }) =>
          versions
            .slice(0, 5)
            .map(({ number, published }, index) => [
              index === 0 ? name : '',
              String(number),
              isoSeconds(published) ?? '',
              number === live ? 'live' : '',
            ]),
        );
        const text = table([['FUNCTION', 'VERSION', 'PUBLISHED', ''], ...rows]);
        output.result({ lastDeployment: isoSeconds(service.lastDeployment), functions: value }, text);
      }),
  );

const rollBack = (open: Open<VersionService>) =>
  stageCommand(
    'roll-back',
    'send all requests to the versions from before a deployment',
    '--stage prod',
    'It changes no tables, routes and settings of the API. The next deployment replaces it.',
  )
    .option(
      '--before <time>',
      'newest versions from before this time (default: the last deployment)',
      timeWithZone,
    )
    .addOption(yesOption)
    .action((options) =>
      open(options, async ({ service, output, confirm }) => {
        const before = options.before ?? service.lastDeployment;
        if (before === undefined)
          throw new ToolError(
            'refused',
            `${service.stackName} was never updated: there is nothing to return to.`,
          );
        const since = isoSeconds(before);
        const moves = movesBefore(await liveFunctions(service), before);
        const moved = moves.map(({ target, to }) => ({ function: target.name, from: target.live, to }));
        if (moves.length === 0) {
          const advice = 'Give an earlier time with --before.';
          const text = `Every function is at its version from before ${since}. ${advice}`;
          output.result({ before: since, moved }, text);
          return;
        }
        for (const { function: name, from, to } of moved) output.note(`${name}: version ${from} → ${to}`);
        await confirm(`Send all requests to these versions from before ${since}?`);
        for (const { target, to } of moves) await moveTo(service, target, to);
        const names = moved.map((each) => each.function).join(', ');
        output.result({ before: since, moved }, `Rolled back: ${names}.`);
      }),
    );

/**
 * The functions that a roll back changes, with the newest version from before `time`.
 *
 * @throws ToolError if it is not possible for every function
 */
function movesBefore(functions: readonly LiveFunction[], time: Date) {
  const divided = functions.filter(({ isDivided }) => isDivided).map(({ name }) => name);
  if (divided.length > 0)
    throw new ToolError(
      'refused',
      `A deployment is in progress, or was left halfway: ${divided.join(', ')} divide requests between two versions. Stop it first (docs/runbook.md#roll-back).`,
    );
  const moves = functions.map((target) => {
    const isEarlier = (each: LiveFunction['versions'][number]) =>
      each.published < time && each.number <= target.live;
    // 0: the function did not exist, or its versions were deleted.
    return { target, to: target.versions.find(isEarlier)?.number ?? 0 };
  });
  const without = moves.filter(({ to }) => to === 0).map(({ target }) => target.name);
  if (without.length > 0)
    throw new ToolError(
      'refused',
      `There is no version from before ${isoSeconds(time)} of ${without.join(', ')}. Deploy an earlier commit instead.`,
    );
  return moves.filter(({ target, to }) => to !== target.live);
}

function timeWithZone(text: string): Date {
  const date = new Date(text);
  const hasZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  if (hasZone && !Number.isNaN(date.getTime())) return date;
  throw new InvalidArgumentError('It must be a time with its zone, such as 2030-01-31T12:00:00Z.');
}

function isoSeconds(date: Date | undefined): string | null {
  return isoTime(date && date.getTime() / 1000);
}

/** Runs the tool once. Returns the exit code. */
export const runVersions = defineTool<VersionService>({
  call: 'npm run versions --',
  summary: 'Shows the versions of the functions of a stage, and rolls them back.',
  help,
  commands: [list, rollBack],
  openService: openVersionService,
});
