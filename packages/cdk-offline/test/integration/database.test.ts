import { mkdir, mkdtemp, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import {
  CreateTableCommand,
  DynamoDBClient,
  ListTablesCommand,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { databaseNames, type LocalDynamoDbOptions, startDynamoDb } from 'cdk-offline/dynamodb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { findInstallation } from '../../src/dynamodb/dynamodb-local.ts';
import { findDynoxide } from '../../src/dynamodb/dynoxide.ts';
import { chooseDatabase, engines } from '../../src/dynamodb/engines.ts';
import { requireJava } from '../../src/dynamodb/java.ts';
import { hiddenAddress } from '../../src/dynamodb/no-browsers.ts';
import { createTables } from '../../src/dynamodb/tables.ts';
import { requestLocally } from '../../src/http/loopback.ts';
import { freePort, isPortFree } from '../../src/system/ports.ts';
import { greetingTemplate, serveGreeting } from './greeting.ts';
import { removeDirectory, table } from './template.ts';

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'database-'));
  onTestFinished(() => removeDirectory(folder));
  return folder;
}

async function start(options: LocalDynamoDbOptions) {
  const database = await startDynamoDb(options);
  onTestFinished(() => database.stop());
  return database;
}

const anybody = { accessKeyId: 'any', secretAccessKey: 'any' };

function clientOf(endpoint: string, credentials = anybody): DynamoDBClient {
  const client = new DynamoDBClient({ region: 'us-east-1', endpoint, credentials, maxAttempts: 1 });
  onTestFinished(() => client.destroy());
  return client;
}

const tablesAt = async (endpoint: string, credentials = anybody) =>
  (await clientOf(endpoint, credentials).send(new ListTablesCommand({}))).TableNames;

const Things = table('things');

const processOf = async (directory: string) =>
  z.object({ pid: z.number() }).parse(JSON.parse(await readFile(join(directory, 'process.json'), 'utf8')))
    .pid;

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe.each(databaseNames)('%s with a data directory', (database) => {
  const { label } = engines[database];

  it('is restarted on its port with the same data when it is killed, and reports it in one line', async () => {
    const dataDirectory = join(await temporaryFolder(), 'new');
    const progress: string[] = [];
    const { endpoint } = await start({
      database,
      dataDirectory,
      onProgress: (line) => void progress.push(line),
    });
    await clientOf(endpoint).send(new CreateTableCommand(Things.Properties));
    const before = await processOf(dataDirectory);
    process.kill(before, 'SIGKILL');
    await expect.poll(() => processOf(dataDirectory), { timeout: 60_000 }).not.toBe(before);
    expect(await tablesAt(endpoint)).toEqual(['things']);
    expect(progress).toEqual([`${label} ended (SIGKILL). Restarting it with the same data.`]);
  });

  it('has files that only their owner can read, and locks the directory until it is stopped', async () => {
    const dataDirectory = await temporaryFolder();
    const first = await start({ database, dataDirectory });
    await clientOf(first.endpoint, first.credentials).send(new CreateTableCommand(Things.Properties));
    for (const name of ['.', ...(await readdir(dataDirectory))]) {
      const { mode } = await stat(join(dataDirectory, name));
      expect({ name, mode: mode & 0o077 }).toEqual({ name, mode: 0 });
    }
    const alias = join(await temporaryFolder(), 'alias');
    await symlink(dataDirectory, alias);
    for (const same of [dataDirectory, alias]) {
      await expect(startDynamoDb({ database, dataDirectory: same })).rejects.toThrow(
        `${same} is in use by another service (process ${process.pid}). Stop it, or choose another directory.`,
      );
    }
    const pid = await processOf(dataDirectory);
    await first.stop();
    expect(isRunning(pid)).toBe(false);
    const second = await start({ database, dataDirectory });
    expect(await tablesAt(second.endpoint, second.credentials)).toEqual(['things']);
  });

  it('gives a kept table the indexes of the template', async () => {
    const dataDirectory = await temporaryFolder();
    const index = (name: string) => ({
      IndexName: name,
      KeySchema: [{ AttributeName: name, KeyType: 'HASH' as const }],
      Projection: { ProjectionType: 'ALL' as const },
    });
    const withIndexes = (...names: string[]) => ({
      input: {
        TableName: 'pets',
        BillingMode: 'PAY_PER_REQUEST' as const,
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' as const }],
        AttributeDefinitions: ['id', ...names].map((AttributeName) => ({
          AttributeName,
          AttributeType: 'S' as const,
        })),
        ...(names.length > 0 && { GlobalSecondaryIndexes: names.map(index) }),
      },
      expiryAttribute: undefined,
    });
    const { endpoint, credentials } = await start({ database, dataDirectory });
    const client = clientOf(endpoint, credentials);
    await createTables([withIndexes('status')], endpoint, credentials);
    const Item = { id: { S: 'a' }, status: { S: 'sold' }, owner: { S: 'ann' }, city: { S: 'rome' } };
    await client.send(new PutItemCommand({ TableName: 'pets', Item }));
    const itemsBy = async (name: 'status' | 'owner' | 'city') => {
      const { Items } = await client.send(
        new QueryCommand({
          TableName: 'pets',
          IndexName: name,
          KeyConditionExpression: '#key = :value',
          ExpressionAttributeNames: { '#key': name },
          ExpressionAttributeValues: { ':value': Item[name] },
        }),
      );
      return Items;
    };
    expect(await createTables([withIndexes('status', 'owner', 'city')], endpoint, credentials)).toBe(0);
    for (const name of ['status', 'owner', 'city'] as const) expect(await itemsBy(name)).toEqual([Item]);
    await createTables([withIndexes('owner')], endpoint, credentials);
    expect(await itemsBy('owner')).toEqual([Item]);
    await expect(itemsBy('status')).rejects.toThrow();
  });

  it('is not opened by the other database', async () => {
    const dataDirectory = await temporaryFolder();
    await (await start({ database, dataDirectory })).stop();
    for (const other of databaseNames.filter((each) => each !== database)) {
      await expect(startDynamoDb({ database: other, dataDirectory })).rejects.toThrow(
        `${dataDirectory} has tables of ${label}, which ${engines[other].label} cannot read. Choose their database (--database ${database}), or another directory.`,
      );
    }
  });

  it('is not opened while a database of an earlier run still uses the directory', async () => {
    const dataDirectory = await temporaryFolder();
    const left = await start({}); // in place of the database that was left running: only its address is read
    await writeFile(
      join(dataDirectory, 'process.json'),
      JSON.stringify({ pid: process.pid, endpoint: left.endpoint }),
    );
    await expect(startDynamoDb({ database, dataDirectory })).rejects.toThrow(
      `${dataDirectory} is in use by ${label} of an earlier run (process ${process.pid}). End it with "kill ${process.pid}" and start again.`,
    );
    await left.stop();
    await start({ database, dataDirectory });
  });

  it('ends when its parent process is killed, and the next one opens its directory', async () => {
    const dataDirectory = await temporaryFolder();
    const program = join(await temporaryFolder(), 'program.mjs');
    const module = new URL('../../src/dynamodb/index.ts', import.meta.url).href;
    await writeFile(
      program,
      `import { startDynamoDb } from ${JSON.stringify(module)};
       await startDynamoDb({ database: process.argv[3], dataDirectory: process.argv[2] });
       process.send('started');
       setInterval(() => {}, 1_000);`,
    );
    const temporary = await temporaryFolder();
    const env = { ...process.env, TMPDIR: temporary };
    const child = fork(program, [dataDirectory, database], { execArgv: [], env });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'message');
    const pid = await processOf(dataDirectory);
    expect(isRunning(pid)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await start({ database, dataDirectory });
    expect(isRunning(pid)).toBe(false);
    await expect.poll(() => readdir(temporary)).toEqual([]);
  });
});

describe.each(databaseNames)('%s', (database) => {
  it('has tables of its own and leaves no temporary files behind', async () => {
    const temporary = await temporaryFolder();
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const one = await start({ database });
    const other = await start({ database });
    await clientOf(one.endpoint, one.credentials).send(new CreateTableCommand(Things.Properties));
    expect(await tablesAt(one.endpoint, one.credentials)).toEqual(['things']);
    expect(await tablesAt(other.endpoint, other.credentials)).toEqual([]);
    expect(await readdir(temporary)).toHaveLength(2);
    await Promise.all([one.stop(), other.stop()]);
    expect(await readdir(temporary)).toEqual([]);
  });
});

it('a database ends whose service was killed before it started', async () => {
  const temporary = await temporaryFolder();
  const program = join(await temporaryFolder(), 'program.mjs');
  await writeFile(
    program,
    `import { fork } from 'node:child_process';
     const keeper = fork(process.argv[2], [process.argv[3]], { detached: true });
     keeper.on('spawn', () => process.kill(process.pid, 'SIGKILL'));`,
  );
  const temporaryDirectory = join(temporary, 'of the run');
  await mkdir(temporaryDirectory);
  const keeper = fileURLToPath(new URL('../../src/dynamodb/keeper.ts', import.meta.url));
  const port = await freePort();
  const options = { database: 'dynoxide', program: findDynoxide(), port, temporaryDirectory };
  await once(fork(program, [keeper, JSON.stringify(options)], { execArgv: [] }), 'exit');
  // The keeper removes it when the database has ended.
  await expect.poll(() => readdir(temporary), { timeout: 20_000 }).toEqual([]);
  // Then it ends itself, and with it the server in front of the database.
  await expect.poll(() => isPortFree(port), { timeout: 20_000 }).toBe(true);
});

describe('the tables', () => {
  // On AWS an account sees its own tables only, and a signature proves who it is. Neither database checks signatures.
  it('of Dynoxide are seen with any access key, those of DynamoDB Local with that of the run only', async () => {
    for (const [database, seen] of [
      ['dynoxide', ['things']],
      ['dynamodb-local', []],
    ] as const) {
      const { endpoint, credentials } = await start({ database });
      await clientOf(endpoint, credentials).send(new CreateTableCommand(Things.Properties));
      expect({ database, seen: await tablesAt(endpoint) }).toEqual({ database, seen });
    }
  });
});

/** The answer to a request as a browser, or a page behind a name that resolves to 127.0.0.1, sends it. */
const ask = (endpoint: string, headers: Record<string, string>, method = 'POST') =>
  requestLocally(endpoint, 5_000, { method, headers, ...(method === 'POST' && { body: Buffer.from('{}') }) });

const targetOf = (operation: string, { accessKeyId }: { accessKeyId: string }) => ({
  'X-Amz-Target': `DynamoDB_20120810.${operation}`,
  'Content-Type': 'application/x-amz-json-1.0',
  Authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0`,
  'X-Amz-Date': '20260101T000000Z',
});

const page = 'https://page.example';

describe.each(databaseNames)('%s and a page in a browser', (database) => {
  it('permits no other origin', async () => {
    const { endpoint, credentials } = await start({ database });
    const preflight = {
      Origin: page,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'x-amz-target,authorization,content-type',
      'Access-Control-Request-Private-Network': 'true',
    };
    const ofPages: [method: string, headers: Record<string, string>][] = [
      ['OPTIONS', preflight],
      ['GET', { Origin: page }],
      ['POST', { Origin: page, ...targetOf('ListTables', credentials) }],
      ['POST', { Origin: 'null', ...targetOf('ListTables', credentials) }],
      ['POST', { Origin: page, 'Content-Type': 'text/plain' }],
    ];
    for (const [method, headers] of ofPages) {
      const answer = await ask(endpoint, headers, method);
      expect(answer.headers.map(([name]) => name)).not.toContain('access-control-allow-origin');
      expect(answer.headers.map(([name]) => name)).not.toContain('access-control-allow-private-network');
    }
  });

  it('shows its tables to no page behind a name that resolves to this machine', async () => {
    const { endpoint, credentials } = await start({ database });
    await clientOf(endpoint, credentials).send(new CreateTableCommand(Things.Properties));
    const host = `page.example:${new URL(endpoint).port}`;
    const { body } = await ask(endpoint, { Host: host, ...targetOf('ListTables', anybody) });
    expect(body.toString()).not.toContain('things');
  });

  it('permits none through the address of the service either', async () => {
    const { service } = await serveGreeting(greetingTemplate({ Things }), {
      database,
      dynamodbEndpoint: undefined,
    });
    const { endpoint, credentials } = service;
    const token = { 'X-Amz-Security-Token': credentials.sessionToken };
    const headers = { Origin: page, ...targetOf('ListTables', credentials), ...token };
    const answer = await ask(endpoint, headers);
    expect(answer.headers.map(([name]) => name)).not.toContain('access-control-allow-origin');
  });
});

describe('Dynoxide', () => {
  it('answers no browser, and no other name than those of this machine', async () => {
    const { endpoint } = await start({ database: 'dynoxide' });
    await clientOf(endpoint).send(new CreateTableCommand(Things.Properties));
    const { port } = new URL(endpoint);
    const list = targetOf('ListTables', anybody);
    for (const headers of [
      { Origin: page },
      { Origin: endpoint },
      { 'Sec-Fetch-Site': 'none' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { Host: 'page.example' },
      { Host: `127.0.0.1.page.example:${port}` },
    ] as Record<string, string>[]) {
      const { status, body } = await ask(endpoint, { ...list, ...headers });
      expect({ headers, status, body: body.toString() }).toEqual({
        headers,
        status: 403,
        body: expect.stringContaining('browser'),
      });
    }
    for (const host of [`127.0.0.1:${port}`, 'localhost', `localhost:${port}`]) {
      const { status, body } = await ask(endpoint, { ...list, Host: host });
      expect({ host, status, body: body.toString() }).toEqual({
        host,
        status: 200,
        body: '{"TableNames":["things"]}',
      });
    }
  });

  it('itself listens where no page can find it', async () => {
    const { endpoint } = await start({ database: 'dynoxide' });
    const [, host, port] = await commandOfDynoxide(endpoint);
    expect(host).toMatch(/^127\.\d+\.\d+\.\d+$/);
    expect(host).not.toMatch(/^127\.0\.0\./);
    expect(port).not.toBe(new URL(endpoint).port);
  });

  it('listens at a port that browsers block where this machine has one loopback address', async () => {
    const places = await Promise.all(Array.from({ length: 5 }, () => hiddenAddress('darwin')));
    for (const { host, port } of places) {
      expect(host).toBe('127.0.0.1');
      // The `fetch` of Node.js blocks the same ports.
      await expect(fetch(`http://${host}:${port}`)).rejects.toMatchObject({ cause: { message: 'bad port' } });
    }
  });

  it('listens on 127.0.0.1 only', async () => {
    const { endpoint } = await start({ database: 'dynoxide' });
    const elsewhere = Object.values(networkInterfaces())
      .flatMap((each = []) => each)
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => endpoint.replace('127.0.0.1', address));
    // Also where this machine has no network: every address that begins with 127 is its own.
    for (const address of [...elsewhere, endpoint.replace('127.0.0.1', '127.0.0.2')]) {
      await expect(fetch(address)).rejects.toThrow('fetch failed');
    }
  });

  it('says what is wrong with a damaged file', async () => {
    const dataDirectory = await temporaryFolder();
    await writeFile(join(dataDirectory, 'dynoxide.db'), 'damaged'.repeat(1_000));
    await expect(startDynamoDb({ database: 'dynoxide', dataDirectory })).rejects.toThrow(
      /^Dynoxide ended while it started \(exit code 1: .*not a valid SQLite database/,
    );
  });

  it('that is not installed is named with the command that installs it', () => {
    const other = process.platform === 'darwin' ? 'win32' : 'darwin';
    expect(() => findDynoxide(other, 'x64')).toThrow(
      `Dynoxide is not installed. Install Dynoxide with "npm install --no-save @dynoxide/${other}-x64@1.2.1".`,
    );
    expect(() => findDynoxide('plan9', 'mips')).toThrow(/^Dynoxide does not run on plan9-mips\.$/);
  });

  it('is preferred', async () => {
    expect(await chooseDatabase()).toBe('dynoxide');
  });
});

describe('DynamoDB Local', () => {
  it('has an access key of its own for each run', async () => {
    const keys = [];
    for (let run = 1; run <= 2; run += 1) {
      const { credentials } = await start({ database: 'dynamodb-local' });
      expect(credentials.accessKeyId).toMatch(/^[\da-f]{32}$/);
      keys.push(credentials.accessKeyId);
    }
    expect(keys[0]).not.toBe(keys[1]);
  });

  it('is not started from another jar than that of the package', async () => {
    const library = await temporaryFolder();
    await expect(findInstallation(library)).rejects.toThrow(`${library} has no DynamoDBLocal.jar.`);
    const jar = join(library, 'dynamodb_local_2099-01-01', 'DynamoDBLocal.jar');
    await mkdir(dirname(jar));
    await writeFile(jar, 'another');
    await expect(findInstallation(library)).rejects.toThrow(`${jar} is not the expected file`);
  });
});

describe.each(databaseNames)('%s in memory', (database) => {
  it('stops the service when it is killed, which reports that the data is lost', async () => {
    const { promise: failure, resolve: onFailure } = Promise.withResolvers<Error>();
    const own = { database, dynamodbEndpoint: undefined, onFailure };
    const { service } = await serveGreeting(greetingTemplate({ Things }), own);
    const { endpoint, credentials, dynamodbEndpoint = '', dynamodbCredentials } = service;
    expect(await tablesAt(endpoint, credentials)).toEqual(['things']);
    expect(await tablesAt(dynamodbEndpoint, dynamodbCredentials)).toEqual(['things']);
    process.kill((await databaseAt(dynamodbEndpoint)).pid, 'SIGKILL');
    expect((await failure).message).toBe(
      `${engines[database].label} ended (SIGKILL). Its data was in memory and is lost.`,
    );
    await expect(fetch(service.url)).rejects.toThrow('fetch failed');
  });
});

/** The process of the database behind an address, and what it was started with. */
async function databaseAt(endpoint: string): Promise<{ pid: number; command: string }> {
  const { port } = new URL(endpoint);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const processes = await Promise.all(
    pids.map(async (pid) => ({
      pid: Number(pid),
      command: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
      status: await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''),
    })),
  );
  const keeper = processes.find(({ command }) => command.includes(`"port":${port},`));
  const found = processes.find(({ status }) => status.includes(`PPid:\t${keeper?.pid}\n`));
  if (found === undefined) throw new Error(`no database at ${endpoint}`);
  return found;
}

async function commandOfDynoxide(endpoint: string) {
  const { command } = await databaseAt(endpoint);
  return /--host\0([^\0]+)\0--port\0(\d+)\0/.exec(command) ?? [];
}

describe('a data directory of the service', () => {
  it('is used by one service at a time', async () => {
    const dataDirectory = await temporaryFolder();
    const first = await serveGreeting(undefined, { dataDirectory });
    await expect(serveGreeting(undefined, { dataDirectory })).rejects.toThrow(
      `${dataDirectory} is in use by another service (process ${process.pid}).`,
    );
    await first.service.stop();
    await serveGreeting(undefined, { dataDirectory });
  });
});

describe('Java', () => {
  it('is taken from JAVA_HOME before PATH', async () => {
    const home = await temporaryFolder();
    await mkdir(join(home, 'bin'));
    const old = `#!/bin/sh\necho 'openjdk version "11.0.2"' >&2\n`;
    await writeFile(join(home, 'bin', 'java'), old, { mode: 0o755 });
    const env = { ...process.env, JAVA_HOME: home };
    await expect(requireJava(env)).rejects.toThrow(/^Java 11 is too old\. .*JAVA_HOME/);
    await expect(requireJava({ PATH: '/nonexistent' })).rejects.toThrow(/^Java was not found\./);
  });
});
