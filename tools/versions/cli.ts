import { InvalidArgumentError } from '@commander-js/extra-typings';
import { type Open, stageCommand, yesOption } from '../command-line/command.ts';
import { ToolError, usageError } from '../command-line/errors.ts';
import { isoTime, type Output, table } from '../command-line/output.ts';
import { defineTool } from '../command-line/program.ts';
import { type History, isLeft, lastChange, stateBefore } from './history.ts';
import {
  type LiveFunction,
  liveFunctions,
  markLeft,
  moveTo,
  openVersionService,
  readHistory,
  unmarkLeft,
  type VersionService,
} from './service.ts';

const help = `Examples:
  npm run versions -- list --stage prod
  npm run versions -- roll-back --stage prod
  npm run versions -- roll-back --stage prod --before 2030-01-31T12:00:00Z
  npm run versions -- roll-forward --stage prod

More in docs/runbook.md.`;

const repair = 'Make them agree: docs/runbook.md#after-a-roll-back.';

const list = (open: Open<VersionService>) =>
  stageCommand(
    'list',
    'show which version of each function is live, and which one the stack has',
    '--stage prod',
  ).action((options) =>
    open(options, async ({ service, output }) => {
      const functions = await liveFunctions(service);
      const history = await readHistory(service, functions);
      const value = functions.map(({ name, live, inStack, versions }) => ({
        function: name,
        live,
        stack: inStack ?? null,
        agree: live === inStack,
        versions: versions.map(({ number, published }) => ({
          version: number,
          published: isoSeconds(published),
          rolledBack: isLeft(history, name, number),
        })),
      }));
      const rows = functions.flatMap(({ name, live, inStack, versions }) =>
        versions
          .filter(({ number }, index) => index < 5 || number === live || number === inStack)
          .map(({ number, published }, index) => [
            index === 0 ? name : '',
            String(number),
            isoSeconds(published) ?? '',
            [
              ...(number === live ? ['live'] : []),
              ...(number === inStack ? ['stack'] : []),
              ...(isLeft(history, name, number) ? ['rolled back'] : []),
            ].join(', '),
          ]),
      );
      const text = table([['FUNCTION', 'VERSION', 'PUBLISHED', ''], ...rows]);
      output.result({ functions: value }, text);
      const different = functions.filter(({ live, inStack }) => live !== inStack).map(({ name }) => name);
      if (different.length > 0)
        output.note(`What is live differs from the stack: ${different.join(', ')}. ${repair}`, 'yellow');
    }),
  );

interface Move {
  readonly target: LiveFunction;
  readonly to: number;
}

const rollBack = (open: Open<VersionService>) =>
  stageCommand(
    'roll-back',
    'send all requests to the versions that were live before the last deployment',
    '--stage prod',
    'It returns to no version that was rolled back or whose deployment failed, and changes no tables, routes and settings of\nthe API. The stack keeps its versions: docs/runbook.md#after-a-roll-back says what to do next.',
  )
    .option(
      '--before <time>',
      'what was live at this time (default: before the last deployment)',
      timeWithZone,
    )
    .option(
      '--to <function=version>',
      'this version of a function, once for each that has to move',
      functionVersion,
      [] as readonly (readonly [string, number])[],
    )
    .addOption(yesOption)
    .action((options) =>
      open(options, async ({ service, output, confirm }) => {
        const { before, to: chosen } = options;
        if (before !== undefined && chosen.length > 0) throw usageError('Give either --before or --to.');
        const functions = await liveFunctions(service);
        const history = await readHistory(service, functions);
        mustBeQuiet(service, functions, history);
        const [versions, time] =
          chosen.length > 0
            ? [mustExist(functions, chosen), undefined]
            : targetOf(service, functions, history, before);
        const moves = movesTo(functions, versions);
        const when = time === undefined ? '' : ` from before ${isoSeconds(time)}`;
        if (moves.length === 0) {
          const text = `Every function is at its version${when}. Give an earlier time with --before.`;
          output.result({ before: isoSeconds(time), moved: [] }, text);
          return;
        }
        showMoves(moves, output);
        await confirm(`Send all requests to these versions${when}?`);
        // First: a run that ends early must not leave a version that a later roll back returns to.
        for (const { target, to } of moves)
          await markLeft(service, {
            function: target.name,
            version: target.live,
            to,
            after: history.lastEnd,
          });
        for (const { target, to } of moves) await moveTo(service, target, to);
        const text = `Rolled back: ${namesOf(moves)}. Next: docs/runbook.md#after-a-roll-back.`;
        output.result({ before: isoSeconds(time), moved: moves.map((each) => moveJson(each)) }, text);
      }),
    );

const rollForward = (open: Open<VersionService>) =>
  stageCommand(
    'roll-forward',
    'send all requests to the versions of the stack again, after a roll back',
    '--stage prod',
  )
    .addOption(yesOption)
    .action((options) =>
      open(options, async ({ service, output, confirm }) => {
        const functions = await liveFunctions(service);
        mustBeQuiet(service, functions, await readHistory(service, functions));
        const inStack = functions.flatMap(({ name, inStack: to }) =>
          to === undefined ? [] : [[name, to] as const],
        );
        const moves = movesTo(functions, new Map(inStack));
        if (moves.length > 0) {
          showMoves(moves, output);
          await confirm('Send all requests to these versions, those of the stack?');
          for (const { target, to } of moves) await moveTo(service, target, to);
        }
        // Of a run that ended early, too.
        for (const { name, inStack: now, left } of functions) {
          if (left.some(({ version }) => version === now)) await unmarkLeft(service, name, now!);
        }
        const text =
          moves.length === 0
            ? 'Every function is at the version of the stack.'
            : `Rolled forward: ${namesOf(moves)}.`;
        output.result({ moved: moves.map((each) => moveJson(each)) }, text);
      }),
    );

/** @throws ToolError while a deployment changes what is live */
function mustBeQuiet(
  { stackName }: VersionService,
  functions: readonly LiveFunction[],
  { inProgress }: History,
): void {
  if (inProgress !== undefined)
    throw new ToolError(
      'refused',
      `A deployment of ${stackName} is in progress (${inProgress}). Stop it first (docs/runbook.md#roll-back).`,
    );
  const divided = functions.filter(({ isDivided }) => isDivided).map(({ name }) => name);
  if (divided.length > 0)
    throw new ToolError(
      'refused',
      `A deployment was left halfway: ${divided.join(', ')} divide requests between two versions. See docs/runbook.md#a-deployment-that-stays-broken.`,
    );
}

/**
 * What a roll back returns to, and the time before which it was live.
 *
 * @throws ToolError if CloudFormation does not know it
 */
function targetOf(
  { stackName }: VersionService,
  functions: readonly LiveFunction[],
  history: History,
  time: Date | undefined,
): readonly [ReadonlyMap<string, number>, Date] {
  const last = lastChange(history);
  const exists = (name: string, version: number): boolean =>
    // A function that is no longer in the stack has nothing to move.
    functions.find((each) => each.name === name)?.versions.some(({ number }) => number === version) ?? true;
  const versions = (time ?? last) && stateBefore(history, time ?? last!, exists);
  if (versions !== undefined) return [versions, time ?? last!.at];
  const isFirst = history.isComplete && history.states.filter(({ changed }) => changed.size > 0).length < 2;
  throw new ToolError(
    'refused',
    isFirst && time === undefined
      ? `${stackName} has only its first versions: there is nothing to return to.`
      : `CloudFormation does not know versions from before that may be returned to; it remembers 90 days. Choose from "list", and give each function that has to move with --to FUNCTION=VERSION.`,
  );
}

/** The versions of --to. @throws ToolError if one does not exist */
function mustExist(
  functions: readonly LiveFunction[],
  chosen: readonly (readonly [string, number])[],
): ReadonlyMap<string, number> {
  for (const [name, version] of chosen) {
    const target = functions.find((each) => each.name === name);
    if (target?.versions.some(({ number }) => number === version) !== true)
      throw usageError(`--to: there is no version ${version} of a function ${name}. "list" shows all.`);
  }
  return new Map(chosen);
}

function movesTo(functions: readonly LiveFunction[], versions: ReadonlyMap<string, number>): Move[] {
  return functions.flatMap((target) => {
    const to = versions.get(target.name) ?? target.live;
    return to === target.live ? [] : [{ target, to }];
  });
}

function showMoves(moves: readonly Move[], output: Output): void {
  for (const { target, to } of moves) output.note(`${target.name}: version ${target.live} → ${to}`);
}

function moveJson({ target, to }: Move) {
  return { function: target.name, from: target.live, to };
}

function namesOf(moves: readonly Move[]): string {
  return moves.map(({ target }) => target.name).join(', ');
}

function timeWithZone(text: string): Date {
  const date = new Date(text);
  const hasZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  if (hasZone && !Number.isNaN(date.getTime())) return date;
  throw new InvalidArgumentError('It must be a time with its zone, such as 2030-01-31T12:00:00Z.');
}

function functionVersion(text: string, earlier: readonly (readonly [string, number])[]) {
  const [, name, version] = /^([\w-]+)=(\d+)$/.exec(text) ?? [];
  if (name === undefined)
    throw new InvalidArgumentError('It must be FUNCTION=VERSION, such as my-function=12.');
  return [...earlier, [name, Number(version)] as const];
}

function isoSeconds(date: Date | undefined): string | null {
  return isoTime(date && date.getTime() / 1000);
}

/** Runs the tool once. Returns the exit code. */
export const runVersions = defineTool<VersionService>({
  call: 'npm run versions --',
  summary: 'Shows the versions of the functions of a stage, and rolls them back and forward.',
  help,
  commands: [list, rollBack, rollForward],
  openService: openVersionService,
});
