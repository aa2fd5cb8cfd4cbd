import { access, mkdir, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { customPlan, customPlanCeiling, type Plan, planNames } from '../functions/access/plans.ts';
import type { LocalService } from '../packages/cdk-offline/src/service.ts';
import { createKey, type KeyService, openKeyService } from './keys/operations.ts';
import { localStage, startLocalStack } from './local-stack.ts';
import { localDynamoDb, seedAnimals } from './seed.ts';

/** `npm start`: the whole service on this machine, with animals to look at and a key for each plan. */

const keysSchema = z.record(z.enum(planNames), z.string());
type Keys = z.infer<typeof keysSchema>;

/** The Enterprise key of a laptop: enough for any load test of one. */
const enterpriseLimits = { perMinute: customPlanCeiling.perMinute, perDay: 10_000_000 };

const command = new Command('npm start --')
  .description('Runs the service on this machine: DynamoDB Local, the API gateway and the functions.')
  .option('--port <n>', 'port on 127.0.0.1, 0 for any free one', wholeNumber(0, 65_535), 3000)
  .option('--animals <n>', 'how many animals to seed into an empty store', wholeNumber(0, 1_000_000), 25)
  .option('--keys-file <path>', 'write the seeded keys there, as JSON')
  .option('--data <dir>', 'keep animals and keys there between runs (in memory otherwise)')
  .helpOption('--help', 'show this')
  .allowExcessArguments()
  .parse();
// Without the double dash npm takes the options for its own and hands their values on.
if (command.args.length > 0) {
  command.error(
    `error: ${command.args.join(' ')}: options go behind a double dash, as in "npm start -- --port 8080"`,
  );
}

const { port, animals, keysFile, data } = z
  .object({
    port: z.number(),
    animals: z.number(),
    keysFile: z.string().optional(),
    data: z.string().optional(),
  })
  .parse(command.opts());

let service: LocalService | undefined;
let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop());

try {
  await main();
} catch (error) {
  if (!stopping) {
    console.error(`\n${messageOf(error)}`);
    await service?.stop();
    process.exit(1);
  }
}

async function main(): Promise<void> {
  // Whatever is wrong with a path is told before anything takes time.
  if (data !== undefined) await using('--data', data, mkdir(data, { recursive: true }));
  if (keysFile !== undefined) await using('--keys-file', keysFile, access(dirname(keysFile)));
  service = await startLocalStack({
    port,
    dataDirectory: data,
    onProgress: (message) => console.log(`… ${message}`),
    onLog: (functionId, line) => console.error(`[${functionId}] ${line}`),
  });
  const tableName = service.outputs['PetsTableName'];
  if (tableName === undefined) throw new Error('The stack has no output PetsTableName');
  const table = { client: localDynamoDb(service.dynamodbEndpoint), tableName };
  console.log(`… Seeding ${animals} animals and one key for each plan`);
  const seeded = await seedAnimals(table, animals, Date.now());
  if (seeded === 0 && animals > 0) console.log('… The store holds animals already: none added');
  const keys = await seedKeys(await openKeyService({ stage: localStage, endpoint: service.endpoint }));
  if (keysFile !== undefined) await using('--keys-file', keysFile, writeJson(keysFile, keys));

  const width = Math.max(...planNames.map((plan) => plan.length));
  console.log(`
ready ${service.url}

${planNames.map((plan) => `  ${plan.padEnd(width)}  ${keys[plan]}`).join('\n')}

  curl -i -H "Authorization: Bearer ${keys.pro}" "${service.url}/pets?limit=2"

Ctrl-C ends it.`);
}

/** With a data directory the keys of the first run are used again: a stored key cannot be shown a second time. */
async function seedKeys(keyService: KeyService): Promise<Keys> {
  const remembered = data === undefined ? undefined : join(data, 'keys.json');
  if (remembered !== undefined) {
    const text = await readFile(remembered, 'utf8').catch(() => undefined);
    if (text !== undefined) return rememberedKeys(remembered, text);
  }
  const issue = async (plan: Plan): Promise<string> => {
    const limits = plan === customPlan ? { limits: enterpriseLimits } : {};
    const { key } = await createKey(keyService, {
      owner: 'local',
      plan,
      note: 'seeded by npm start',
      ...limits,
    });
    return key;
  };
  const keys: Partial<Keys> = {};
  for (const plan of planNames) keys[plan] = await issue(plan);
  const complete = keysSchema.parse(keys);
  if (remembered !== undefined) await writeJson(remembered, complete);
  return complete;
}

function rememberedKeys(path: string, text: string): Keys {
  try {
    return keysSchema.parse(JSON.parse(text));
  } catch {
    throw new Error(`${path} does not hold the keys of an earlier run. Name another folder with --data.`);
  }
}

/** Readable by its owner alone: these are keys. */
async function writeJson(path: string, value: unknown): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    // The mode above is for a file that is new only, and a path may be no file at all, such as /dev/stdout.
    if ((await file.stat()).isFile()) await file.chmod(0o600);
    await file.writeFile(`${JSON.stringify(value, undefined, 2)}\n`);
  } finally {
    await file.close();
  }
}

/** @throws Error that names the option whose path does not serve */
async function using(option: string, path: string, use: Promise<unknown>): Promise<void> {
  try {
    await use;
  } catch (error) {
    throw new Error(`${option} ${path} cannot be used: ${messageOf(error)}. Name another.`, { cause: error });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function stop(): Promise<void> {
  if (stopping) process.exit(130);
  stopping = true;
  console.log('\nStopping');
  await service?.stop();
  process.exit(0);
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}
