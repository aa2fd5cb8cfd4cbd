import { createInterface } from 'node:readline/promises';
import { text as readAll } from 'node:stream/consumers';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { readKey } from './key-administration.ts';
import { indefinitely, readUse } from './key-administration-use.ts';
import { hashOfKey, stageOfKey } from '../../functions/access/keys.ts';
import { customPlan, limitsOf, planNames } from '../../functions/access/plans.ts';
import { exitCodes, KeyToolError } from './errors.ts';
import { explain } from './explain.ts';
import { grouped, isoTime, parseDuration, time, untilTime } from './format.ts';
import { isKeyId } from './key-ids.ts';
import { keyStatuses, listKeys, statusOf } from './listing.ts';
import * as operations from './operations.ts';
import { type Io, Output, redact } from './output.ts';
import { rebindKey, surveyKeys } from './rebinding.ts';
import { requireKey } from './records.ts';
import { checkLimits, checkRequest } from './requests.ts';
import {
  defaultStackPrefix,
  type KeyService,
  type KeyServiceOptions,
  nowOf,
  openKeyService,
} from './service.ts';
import { usageDays, usageOf } from './usage.ts';
import * as views from './views.ts';

/** The stages there are (lib/stages.ts). */
export const stages = ['local', 'staging', 'prod'] as const;
const localStage = 'local';
const localPort = 3000;
/** Where a change that takes something away from a client is asked about first. */
const confirmedStage = 'prod';

const pageSize = { min: 1, max: 100, default: 20 } as const;
/** Longer than a year is no overlap and no temporary suspension. */
const longestDuration = 366 * 86_400;

const commonOptions = z.object({
  stage: z.enum(stages),
  json: z.boolean().default(false),
  yes: z.boolean().default(false),
  port: z.number().optional(),
  region: z.string().optional(),
  profile: z.string().optional(),
  name: z.string().default(defaultStackPrefix),
});
type CommonOptions = z.infer<typeof commonOptions>;

const limitOptions = z.object({ perMinute: z.number().optional(), perDay: z.number().optional() });

/** What a command works with. */
interface Session {
  readonly service: KeyService;
  readonly output: Output;
  /** @throws KeyToolError unless it may be done */
  readonly confirm: (question: string) => Promise<void>;
  /** Everything on standard input. */
  readonly input: () => Promise<string>;
  readonly stage: string;
}

/** What differs when tests drive the tool. */
export type Seams = Pick<KeyServiceOptions, 'afterStep' | 'clock' | 'runner'> & {
  readonly localEndpoint?: string;
};

/**
 * Runs the tool once.
 *
 * @param args the arguments behind the program's name
 * @returns the exit code, see `exitCodes`; 0 when all went well
 */
export async function runKeys(args: readonly string[], io: Io, seams: Seams = {}): Promise<number> {
  const output = new Output(io, args.includes('--json'));
  try {
    await program(io, seams, output).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    const isCommander = error instanceof CommanderError;
    // The help that was asked for.
    if (isCommander && error.exitCode === 0) return 0;
    const { fault, message } = isCommander ? misuse(error) : explain(error, { stage: '' });
    output.note(output.json ? JSON.stringify({ error: { code: fault, message } }) : message);
    return exitCodes[fault];
  }
}

/** What the library finds wrong with a call, as one line like all others. */
function misuse({ code, message }: CommanderError): KeyToolError {
  if (code === 'commander.help') return new KeyToolError('usage', 'Which command? "--help" names them.');
  const [, first = '', rest = ''] =
    /^(?:error: )?(.)(.*)$/s.exec(message.replaceAll(/\s+/g, ' ').trim()) ?? [];
  const line = first.toUpperCase() + rest;
  // Without the double dash npm takes all options for its own, and this one is missed first.
  if (code === 'commander.missingMandatoryOptionValue' && line.includes('--stage'))
    return new KeyToolError('usage', `${line} (options go behind a double dash: npm run keys -- …).`);
  return new KeyToolError('usage', /[.)?]$/.test(line) ? line : `${line}.`);
}

function program(io: Io, seams: Seams, { json }: Output): Command {
  const root = new Command('npm run keys --')
    .description('Issues, shows and withdraws the API keys of a stage.')
    .helpOption('-h, --help', 'show this')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  npm run keys -- create --stage local --owner "Ada Lovelace" --plan pro
  npm run keys -- list --stage prod --status suspended
  npm run keys -- rotate key_06fz1m4tqabcdefg --stage prod --overlap 24h
  npm run keys -- revoke key_06fz1m4tqabcdefg --stage prod

Exit codes: 0 done, 1 failed, 2 the call is not right, 3 there is no such key or stack, 4 refused.
More in docs/keys.md.`,
    );

  /** A command with the options that all have, and its action with a service at hand. */
  const add = <T extends z.ZodObject>(
    name: string,
    description: string,
    example: string,
    options: readonly Option[],
    schema: T,
    act: (session: Session, options: z.infer<T>, keyId: string) => Promise<void>,
  ): void => {
    const command = root.command(name).description(description).helpOption('-h, --help', 'show this');
    for (const option of [...options, ...common()]) command.addOption(option);
    command.addHelpText('after', `\nExample:\n  npm run keys -- ${example}`);
    command.action(async (...given: unknown[]) => {
      const all = commonOptions.parse(command.opts());
      const keyId = z.string().catch('').parse(given[0]);
      if (name.includes('<')) requireKeyId(keyId);
      await inSession(io, seams, all, (session) => act(session, schema.parse(command.opts()), keyId));
    });
  };

  add(
    'create',
    'issue a key; it is shown once',
    'create --stage local --owner "Ada Lovelace" --plan enterprise --per-minute 6000 --per-day 1000000',
    [
      new Option('--owner <name>', 'who holds the key').makeOptionMandatory(),
      planOption('the plan').makeOptionMandatory(),
      ...limitsOptions(),
      new Option('--note <text>', 'what the key is for'),
    ],
    z
      .object({ owner: z.string(), plan: z.enum(planNames), note: z.string().optional() })
      .extend(limitOptions.shape),
    async ({ service, output, stage }, { owner, plan, note, perMinute, perDay }) => {
      const request = checkRequest({ owner, plan, note, limits: { perMinute, perDay } });
      await operations.createKey(service, request, (issued) =>
        output.reveal(views.issuedJson(issued, stage), views.issuedText(issued)),
      );
      if (!output.json) output.note('The key is valid now.');
    },
  );

  add(
    'list',
    'list keys, newest first',
    'list --stage prod --plan free --status active --limit 50',
    [
      new Option('--owner <name>', 'only keys of this owner').argParser(notEmpty),
      planOption('only keys on this plan'),
      new Option('--status <status>', 'only keys that are this now').choices(keyStatuses),
      new Option('--limit <n>', 'how many at most')
        .default(pageSize.default)
        .argParser(wholeNumber(pageSize.min, pageSize.max)),
      new Option('--cursor <cursor>', 'go on where the page before ended').argParser(cursor),
    ],
    z.object({
      owner: z.string().optional(),
      plan: z.enum(planNames).optional(),
      status: z.enum(keyStatuses).optional(),
      limit: z.number(),
      cursor: z.string().optional(),
    }),
    async ({ service, output }, listing) => {
      const page = await listKeys(service, listing);
      output.result(views.listJson(page.keys, page.cursor), views.listText(page.keys));
      for (const message of new Set(page.damaged.map((damage) => damage.message))) output.note(message);
      if (output.json) return;
      if (page.keys.some(({ key }) => views.isUnfinished(key))) {
        output.note('A change of a key marked * or unfinished stopped half way: run it again, or "tidy".');
      }
      if (page.cursor !== undefined) {
        const looked = page.keys.length < listing.limit ? ` after ${grouped(page.examined)} records` : '';
        output.note(`There may be more${looked}: --cursor ${page.cursor}`);
      }
    },
  );

  add(
    'show <key-id>',
    'show a key: its plan, its use, and every change of it',
    'show key_06fz1m4tqabcdefg --stage prod',
    [],
    z.object({}),
    async ({ service, output }, _options, keyId) => {
      const key = await requireKey(service, keyId);
      const use = (await readUse(service.limitTable, [key.keyHash])).get(key.keyHash);
      if (use === undefined) throw new Error('The use of a key is always known');
      const now = nowOf(service);
      output.result(views.showJson(key, use, now), views.showText(key, use, now));
    },
  );

  add(
    'usage <key-id>',
    'show the requests of a key, day by day',
    'usage key_06fz1m4tqabcdefg --stage prod --days 30',
    [
      new Option('--days <n>', 'how many days, today included')
        .default(7)
        .argParser(wholeNumber(usageDays.min, usageDays.max)),
    ],
    z.object({ days: z.number() }),
    async ({ service, output }, { days }, keyId) => {
      const key = await requireKey(service, keyId);
      const usage = await usageOf(service, key, days);
      output.result(views.usageJson(key, usage), views.usageText(key, usage));
    },
  );

  add(
    'rotate <key-id>',
    'issue a key in place of another, which stays valid for a while',
    'rotate key_06fz1m4tqabcdefg --stage prod --overlap 24h',
    [
      new Option('--overlap <duration>', 'for how long the old key stays valid: 0s, 90s, 15m, 24h, 7d')
        .default(24 * 3_600, '24h')
        .argParser(duration(0)),
    ],
    z.object({ overlap: z.number() }),
    async ({ service, output, confirm, stage }, { overlap }, keyId) => {
      const { owner, plan } = await requireKey(service, keyId);
      await confirm(`Replace ${keyId} (${owner}, ${plan}) in ${stage}?`);
      const { expiresAt } = await operations.rotateKey(service, keyId, { overlap }, (issued) =>
        output.reveal(
          { ...views.issuedJson(issued, stage), replaces: keyId, overlapSeconds: overlap },
          views.issuedText(issued),
        ),
      );
      if (!output.json) output.note(`The new key is valid now, the old one until ${time(expiresAt)}.`);
    },
  );

  add(
    'revoke <key-id>',
    'make a key invalid for good, at once',
    'revoke key_06fz1m4tqabcdefg --stage prod',
    [],
    z.object({}),
    async ({ service, output, confirm, stage }, _options, keyId) => {
      const { owner, plan, status } = await requireKey(service, keyId);
      if (status !== 'revoked')
        await confirm(`Revoke ${keyId} (${owner}, ${plan}) in ${stage}? It cannot be undone.`);
      const changed = await operations.revokeKey(service, keyId);
      output.result(
        { keyId, changed },
        changed ? `${keyId} is revoked.` : `${keyId} had been revoked before.`,
      );
    },
  );

  add(
    'suspend <key-id>',
    'have a key answered 429 for a while, or until it is resumed',
    'suspend key_06fz1m4tqabcdefg --stage prod --for 24h',
    [
      new Option('--for <duration>', 'for how long: 15m, 24h, 7d (default: until it is resumed)').argParser(
        duration(1),
      ),
    ],
    z.object({ for: z.number().optional() }),
    async ({ service, output, confirm, stage }, { for: seconds }, keyId) => {
      const { owner, plan } = await requireKey(service, keyId);
      await confirm(`Suspend ${keyId} (${owner}, ${plan}) in ${stage}?`);
      const until = seconds === undefined ? indefinitely : nowOf(service) + seconds;
      await operations.suspendKey(service, keyId, until);
      output.result({ keyId, suspendedUntil: isoTime(until) }, `${keyId} is suspended ${untilTime(until)}.`);
    },
  );

  add(
    'resume <key-id>',
    'lift the suspension of a key, an automatic one too',
    'resume key_06fz1m4tqabcdefg --stage prod',
    [],
    z.object({}),
    async ({ service, output }, _options, keyId) => {
      const changed = await operations.resumeKey(service, keyId);
      output.result({ keyId, changed }, changed ? `${keyId} is resumed.` : `${keyId} is not suspended.`);
    },
  );

  add(
    'change-plan <key-id>',
    'put a key on another plan',
    'change-plan key_06fz1m4tqabcdefg --stage prod --plan business',
    [planOption('the new plan').makeOptionMandatory(), ...limitsOptions()],
    z.object({ plan: z.enum(planNames) }).extend(limitOptions.shape),
    async ({ service, output, confirm, stage }, { plan, perMinute, perDay }, keyId) => {
      const limits = checkLimits(plan, { perMinute, perDay });
      const key = await requireKey(service, keyId);
      await confirm(`Put ${keyId} (${key.owner}) in ${stage} from the ${key.plan} plan on ${plan}?`);
      const changed = await operations.changePlan(service, keyId, { plan, limits });
      output.result(
        { keyId, plan, ...(limitsOf(plan) ?? limits), changed },
        changed ? `${keyId} is on the ${plan} plan.` : `${keyId} was on it before.`,
      );
    },
  );

  add(
    'identify',
    'tell which key is on standard input, without showing it',
    'identify --stage prod < leaked-key.txt',
    [],
    z.object({}),
    async ({ service, output, input, stage }) => {
      const given = (await input()).trim().replace(/^Bearer +/i, '');
      if (given === '') throw new KeyToolError('usage', 'Nothing came in: paste the key, or pipe it in.');
      const stageOf = stageOfKey(given);
      if (stageOf === undefined) {
        throw new KeyToolError('usage', 'That is no key of this service: its form or its checksum is wrong.');
      }
      if (stageOf !== stage)
        throw new KeyToolError('usage', `That is a key of stage ${stageOf}: use --stage ${stageOf}.`);
      const key = await readKey(service.keyTable, hashOfKey(given));
      if (key === undefined) throw new KeyToolError('not_found', `Stage ${stage} never issued that key.`);
      const use = (await readUse(service.limitTable, [key.keyHash])).get(key.keyHash);
      const status = statusOf(key, use, nowOf(service));
      output.result(
        { keyId: key.keyId, status, owner: key.owner },
        `${key.keyId} of ${key.owner}, ${status}`,
      );
    },
  );

  add(
    'tidy',
    'finish what crashes left half done, and free the places of expired keys in API Gateway',
    'tidy --stage prod',
    [],
    z.object({}),
    async ({ service, output }) => {
      const done: operations.Tidied[] = [];
      for await (const tidied of operations.tidy(service)) done.push(tidied);
      const lines = done.map(({ keyId, did }) => `${keyId}: ${did}`);
      output.result({ tidied: done }, lines.length > 0 ? lines.join('\n') : 'All is in order.');
    },
  );

  add(
    'rebind',
    'after an API or its usage plans were rebuilt: make the API Gateway keys of all valid keys whole again',
    'rebind --stage prod --dry-run',
    [
      new Option('--owner <name>', 'only keys of this owner').argParser(notEmpty),
      planOption('only keys on this plan'),
      new Option('--dry-run', 'only tell what is amiss'),
    ],
    z.object({
      owner: z.string().optional(),
      plan: z.enum(planNames).optional(),
      dryRun: z.boolean().default(false),
    }),
    async ({ service, output, confirm, stage }, { dryRun, ...filter }) => {
      const survey = await surveyKeys(service, filter);
      for (const message of new Set(survey.damaged.map((damage) => damage.message))) output.note(message);
      for (const keyId of survey.disabled) {
        output.note(
          `${keyId} was switched off in API Gateway: its requests get 401, and it is left at that.`,
        );
      }
      const rebound: string[] = [];
      if (!dryRun && survey.amiss.length > 0) {
        await confirm(
          `Rebind ${grouped(survey.amiss.length)} of ${grouped(survey.valid)} valid keys in ${stage}?`,
        );
        for (const found of survey.amiss) {
          if (await rebindKey(service, found)) rebound.push(found.key.keyId);
        }
      }
      output.result(views.rebindJson(survey, rebound, dryRun), views.rebindText(survey, rebound, dryRun));
    },
  );

  configure(root, io, json);
  return root;
}

/** Help goes where the rest goes, and errors end no process: `runKeys` prints them as it does all others. */
function configure(root: Command, io: Io, json: boolean): void {
  for (const command of [root, ...root.commands]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => void io.stdout.write(redact(text)),
      // What is left besides errors is the help for a call without a command: for people.
      writeErr: (text) => void (json || io.stderr.write(redact(text))),
      outputError: () => {},
    });
  }
}

async function inSession(
  io: Io,
  seams: Seams,
  options: CommonOptions,
  act: (session: Session) => Promise<void>,
): Promise<void> {
  const { stage, port, region, profile, name, json, yes } = options;
  const isLocal = stage === localStage;
  if (!isLocal && port !== undefined) throw new KeyToolError('usage', `--port is for --stage ${localStage}.`);
  const endpoint = isLocal ? (seams.localEndpoint ?? `http://127.0.0.1:${port ?? localPort}`) : undefined;
  const output = new Output(io, json);
  try {
    const service = await openKeyService({
      ...seams,
      stage,
      endpoint,
      region,
      profile,
      stackName: `${name}-${stage}`,
      onAudit: (line) => output.note(json ? JSON.stringify(views.changeJson(line)) : views.changeText(line)),
    });
    const input = () => {
      if (io.interactive) output.note('Paste the key, then press Enter and Ctrl-D.');
      return readAll(io.stdin);
    };
    const confirm = (question: string) =>
      stage !== confirmedStage || yes ? Promise.resolve() : ask(io, question);
    await act({ service, output, confirm, input, stage });
  } catch (error) {
    throw explain(error, { stage, endpoint, region, profile });
  }
}

async function ask(io: Io, question: string): Promise<void> {
  if (!io.interactive) {
    throw new KeyToolError(
      'refused',
      'This needs a confirmation, and nobody is there to give it: run it in a terminal, or with --yes.',
    );
  }
  const readline = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await readline.question(`${redact(question)} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new KeyToolError('refused', 'Nothing was changed.');
  } finally {
    readline.close();
  }
}

function common(): Option[] {
  return [
    new Option('--stage <stage>', 'whose keys').choices(stages).makeOptionMandatory(),
    new Option('--json', 'print JSON'),
    new Option('-y, --yes', `do not ask before taking something away in ${confirmedStage}`),
    new Option('--port <n>', `port of the local service (default: ${localPort})`).argParser(
      wholeNumber(1, 65_535),
    ),
    new Option('--region <region>', 'AWS Region (default: AWS_REGION, or the one of the profile)'),
    new Option('--profile <profile>', 'profile of the AWS configuration (default: AWS_PROFILE)'),
    new Option('--name <name>', 'name of the copy, as given to the CDK app').default(defaultStackPrefix),
  ];
}

function planOption(description: string): Option {
  return new Option('--plan <plan>', description).choices(planNames);
}

function limitsOptions(): Option[] {
  return [
    new Option('--per-minute <n>', `requests a minute, on the ${customPlan} plan only`).argParser(
      wholeNumber(1),
    ),
    new Option('--per-day <n>', `requests a day, on the ${customPlan} plan only`).argParser(wholeNumber(1)),
  ];
}

function requireKeyId(text: string): void {
  if (isKeyId(text)) return;
  if (text.startsWith('as_')) {
    throw new KeyToolError(
      'usage',
      'That is a key, not the id of one, and belongs in no command line. "identify" tells its id from standard input.',
    );
  }
  throw new KeyToolError(
    'usage',
    `${text} is no key id: they look like key_06fz1m4tqabcdefg, and "list" shows them.`,
  );
}

function notEmpty(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must not be empty.');
}

function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
    throw new InvalidArgumentError(`It must be a whole number${range}.`);
  };
}

function duration(min: number): (text: string) => number {
  return (text) => {
    const seconds = parseDuration(text);
    if (seconds !== undefined && seconds >= min && seconds <= longestDuration) return seconds;
    throw new InvalidArgumentError(
      'It must be a whole number and a unit, such as 90s, 15m, 24h or 7d, up to 366d.',
    );
  };
}

function cursor(text: string): string {
  if (isKeyId(text)) return text;
  throw new InvalidArgumentError('It is none that "list" printed.');
}
