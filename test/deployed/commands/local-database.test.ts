import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  chooseDatabase,
  databaseNames,
  engines,
} from '../../../tools/contributors/local/database-engines.ts';
import { type DatabaseOptions, startDatabase } from '../../../tools/contributors/local/database.ts';
import { createTables } from '../../../tools/contributors/local/tables.ts';

/** The process of the database and the server before it. */

const installed = (
  await Promise.all(
    databaseNames.map((name) =>
      chooseDatabase(name).then(
        () => [name],
        () => [],
      ),
    ),
  )
).flat();

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'database-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function start(options: DatabaseOptions) {
  const database = await startDatabase(options);
  onTestFinished(() => database.stop());
  return database;
}
type Access = Pick<Awaited<ReturnType<typeof start>>, 'endpoint' | 'credentials'>;

const headersOf = (operation: string, accessKeyId: string) => ({
  'X-Amz-Target': `DynamoDB_20120810.${operation}`,
  'Content-Type': 'application/x-amz-json-1.0',
  'X-Amz-Date': '20260101T000000Z',
  Authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0`,
});

/** The status and body of the answer. `fetch` sends no Host and no Origin of its own choice. */
async function call({ endpoint, credentials }: Access, operation: string, input: object = {}, more = {}) {
  const headers = { ...headersOf(operation, credentials.accessKeyId), ...more };
  const sent = request(endpoint, { method: 'POST', headers, agent: false }).end(JSON.stringify(input));
  const [answer] = await once(sent, 'response');
  return { status: answer.statusCode as number, headers: answer.headers as object, body: await text(answer) };
}

const things = {
  TableName: 'things',
  BillingMode: 'PAY_PER_REQUEST' as const,
  KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' as const }],
  AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' as const }],
};
const put = (access: Access, id: string) =>
  call(access, 'PutItem', { TableName: 'things', Item: { id: { S: id } } });
const get = async (access: Access, id: string) =>
  (await call(access, 'GetItem', { TableName: 'things', Key: { id: { S: id } } })).body;

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe.each(installed)('%s with a data folder', (database) => {
  const { label } = engines[database];

  it('is restarted on its port with the same data when it is killed, and reports it in one line', async () => {
    const dataFolder = await temporaryFolder();
    const progress: string[] = [];
    const access = await start({ database, dataFolder, onProgress: (line) => void progress.push(line) });
    await call(access, 'CreateTable', things);
    await put(access, 'kept');
    process.kill((await databaseAt(access.endpoint)).pid, 'SIGKILL');
    await expect
      .poll(() => get(access, 'kept').catch(String), { timeout: 60_000, interval: 100 })
      .toContain('kept');
    expect(progress).toEqual([`${label} ended (SIGKILL). Restarting it with the same data.`]);
  });

  it('has files that only their owner can read, and is not opened by the other database', async () => {
    const dataFolder = await temporaryFolder();
    const first = await start({ database, dataFolder });
    await call(first, 'CreateTable', things);
    for (const name of ['.', ...(await readdir(dataFolder))])
      expect({ name, mode: (await stat(join(dataFolder, name))).mode & 0o077 }).toEqual({ name, mode: 0 });
    const { pid } = await databaseAt(first.endpoint);
    await first.stop();
    expect(isRunning(pid)).toBe(false);
    for (const other of installed.filter((each) => each !== database))
      await expect(startDatabase({ database: other, dataFolder })).rejects.toThrow(
        `${dataFolder} has tables of ${label}, which ${engines[other].label} cannot read. Choose their database (--database ${database}), or another directory.`,
      );
  });

  it('gives a kept table the indexes of the template', async () => {
    const access = await start({ database, dataFolder: await temporaryFolder() });
    const withIndexes = (...names: string[]) => ({
      input: {
        ...things,
        AttributeDefinitions: ['id', ...names].map((AttributeName) => ({
          AttributeName,
          AttributeType: 'S' as const,
        })),
        ...(names.length > 0 && {
          GlobalSecondaryIndexes: names.map((name) => ({
            IndexName: name,
            KeySchema: [{ AttributeName: name, KeyType: 'HASH' as const }],
            Projection: { ProjectionType: 'ALL' as const },
          })),
        }),
      },
      expiryAttribute: undefined,
    });
    const statusOf = async (name: string) => {
      const input = {
        TableName: 'things',
        IndexName: name,
        KeyConditionExpression: `${name} = :value`,
        ExpressionAttributeValues: { ':value': { S: 'a' } },
      };
      return (await call(access, 'Query', input)).status;
    };
    expect(await createTables([withIndexes('one')], access)).toBe(1);
    expect(await createTables([withIndexes('one', 'two', 'three')], access)).toBe(0);
    expect([await statusOf('one'), await statusOf('two'), await statusOf('three')]).toEqual([200, 200, 200]);
    await createTables([withIndexes('two')], access);
    expect([await statusOf('one'), await statusOf('two')]).toEqual([400, 200]);
  });

  it('ends when its parent process is killed, and the next one opens its folder', async () => {
    const dataFolder = await temporaryFolder();
    const program = join(await temporaryFolder(), 'program.mjs');
    const module = new URL('../../../tools/contributors/local/database.ts', import.meta.url).href;
    await writeFile(
      program,
      `import { startDatabase } from ${JSON.stringify(module)};
       const [, , dataFolder, database, temporaryFolder] = process.argv;
       const { endpoint } = await startDatabase({ database, dataFolder, temporaryFolder });
       process.send(endpoint);
       setInterval(() => {}, 1_000);`,
    );
    const temporary = await temporaryFolder();
    const child = fork(program, [dataFolder, database, temporary], { execArgv: [] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [endpoint] = (await once(child, 'message')) as [string];
    const { pid } = await databaseAt(endpoint);
    await expect(startDatabase({ database, dataFolder })).rejects.toThrow(
      `${dataFolder} is in use by another service (process ${child.pid}). Stop it, or choose another directory.`,
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
    await start({ database, dataFolder });
    expect(isRunning(pid)).toBe(false);
    expect(existsSync(temporary)).toBe(false);
  });

  it('permits no page of another origin, and shows its tables to none behind a name of this machine', async () => {
    const access = await start({ database });
    await call(access, 'CreateTable', things);
    for (const origin of ['https://page.example', 'null']) {
      const { headers } = await call(access, 'ListTables', {}, { Origin: origin });
      expect(Object.keys(headers)).not.toContain('access-control-allow-origin');
    }
    const anybody = { ...access, credentials: { accessKeyId: 'any', secretAccessKey: 'any' } };
    expect((await call(anybody, 'ListTables', {}, { Host: 'page.example' })).body).not.toContain('things');
  });
});

describe('Dynoxide', () => {
  const database = 'dynoxide' as const;

  it('answers no browser, and no other name than those of this machine', async () => {
    const access = await start({ database });
    const { host, port } = new URL(access.endpoint);
    for (const more of [
      { Origin: access.endpoint },
      { 'Sec-Fetch-Site': 'none' },
      { 'Access-Control-Request-Method': 'POST' },
      { Host: 'page.example' },
      { Host: `127.0.0.1.page.example:${port}` },
    ]) {
      const { status, body } = await call(access, 'ListTables', {}, more);
      expect({ more, status, body }).toEqual({ more, status: 403, body: expect.stringContaining('browser') });
    }
    for (const name of [host, 'localhost', `localhost:${port}`])
      expect((await call(access, 'ListTables', {}, { Host: name })).status).toBe(200);
  });

  it('listens on 127.0.0.1 only, and itself where no page can find it', async () => {
    const { endpoint } = await start({ database });
    const others = Object.values(networkInterfaces())
      .flatMap((each = []) => each)
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => address);
    for (const address of [...others, '127.0.0.2'])
      await expect(fetch(endpoint.replace('127.0.0.1', address))).rejects.toThrow('fetch failed');
    const [, host] = /--host\0([^\0]+)\0/.exec((await databaseAt(endpoint)).command) ?? [];
    expect(host).toMatch(process.platform === 'darwin' ? /^127\.0\.0\.1$/ : /^127\.(?!0\.0\.)\d+\.\d+\.\d+$/);
  });

  it('stands still for a moment, and answers clients that wait; those that go away end nothing', async () => {
    const onLost = vi.fn<(error: Error) => void>();
    const access = await start({ database, onLost });
    await call(access, 'CreateTable', things);
    await put(access, 'kept');
    const { pid } = await databaseAt(access.endpoint);
    const { port } = new URL(access.endpoint);
    process.kill(pid, 'SIGSTOP');
    const waiting = get(access, 'kept');
    for (let client = 1; client <= 400; client += 1) {
      const body = JSON.stringify({ TableName: 'things', Key: { id: { S: 'kept' } } });
      const headers = { Host: '127.0.0.1', ...headersOf('GetItem', 'any'), 'Content-Length': body.length };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      // Some have sent a part of their request only.
      const bytes = `POST / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${client % 3 === 0 ? body.slice(9) : body}`;
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(bytes, () => (client % 2 === 0 ? socket.destroy() : socket.resetAndDestroy()));
      await once(socket, 'close');
    }
    process.kill(pid, 'SIGCONT');
    expect(await waiting).toContain('kept');
    expect(await get(access, 'kept')).toContain('kept');
    expect(onLost).not.toHaveBeenCalled();
  });

  it('is lost when it is killed in memory, and says so once', async () => {
    const { promise: lost, resolve: onLost } = Promise.withResolvers<Error>();
    const { endpoint } = await start({ database, onLost });
    process.kill((await databaseAt(endpoint)).pid, 'SIGKILL');
    expect((await lost).message).toBe('Dynoxide ended (SIGKILL). Its data was in memory and is lost.');
  });

  it('says what is wrong with a damaged file', async () => {
    const dataFolder = await temporaryFolder();
    await writeFile(join(dataFolder, 'dynoxide.db'), 'damaged'.repeat(1_000));
    await expect(startDatabase({ database, dataFolder })).rejects.toThrow(
      /^Dynoxide ended while it started \(exit code 1: .*not a valid SQLite database/,
    );
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

it('a folder is used by one service at a time, by whatever name', async () => {
  const dataFolder = await temporaryFolder();
  const alias = join(await temporaryFolder(), 'alias');
  await symlink(dataFolder, alias);
  const first = await start({ dataFolder });
  for (const same of [dataFolder, alias])
    await expect(startDatabase({ dataFolder: same })).rejects.toThrow(
      `${same} is in use by another service (process ${process.pid}). Stop it, or choose another directory.`,
    );
  await first.stop();
  await start({ dataFolder: alias });
});
