import { mkdir, mkdtemp, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { CreateTableCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { type DynamoDbLocalOptions, startDynamoDb } from 'cdk-offline/dynamodb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { findInstallation } from '../../src/dynamodb/installation.ts';
import { requireJava } from '../../src/dynamodb/java.ts';
import { greetingTemplate, serveGreeting } from './greeting.ts';
import { removeDirectory, table } from './template.ts';

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'database-'));
  onTestFinished(() => removeDirectory(folder));
  return folder;
}

async function start(options: DynamoDbLocalOptions) {
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

describe('a database with a data directory', () => {
  it('is restarted on its port with the same data when it is killed, and reports it in one line', async () => {
    const dataDirectory = join(await temporaryFolder(), 'new');
    const progress: string[] = [];
    const { endpoint } = await start({ dataDirectory, onProgress: (line) => void progress.push(line) });
    await clientOf(endpoint).send(new CreateTableCommand(Things.Properties));
    const before = await processOf(dataDirectory);
    process.kill(before, 'SIGKILL');
    await expect.poll(() => processOf(dataDirectory), { timeout: 60_000 }).not.toBe(before);
    expect(await tablesAt(endpoint)).toEqual(['things']);
    expect(progress).toEqual(['DynamoDB Local ended (SIGKILL). Restarting it with the same data.']);
  });

  it('has files that only their owner can read, and locks the directory until it is stopped', async () => {
    const dataDirectory = await temporaryFolder();
    const first = await start({ dataDirectory });
    await clientOf(first.endpoint, first.credentials).send(new CreateTableCommand(Things.Properties));
    for (const name of ['.', ...(await readdir(dataDirectory))]) {
      const { mode } = await stat(join(dataDirectory, name));
      expect({ name, mode: mode & 0o077 }).toEqual({ name, mode: 0 });
    }
    const alias = join(await temporaryFolder(), 'alias');
    await symlink(dataDirectory, alias);
    for (const same of [dataDirectory, alias]) {
      await expect(startDynamoDb({ dataDirectory: same })).rejects.toThrow(
        `${same} is in use by another service (process ${process.pid}). Stop it, or choose another directory.`,
      );
    }
    const java = await processOf(dataDirectory);
    await first.stop();
    expect(isRunning(java)).toBe(false);
    const second = await start({ dataDirectory });
    expect(await tablesAt(second.endpoint, second.credentials)).toEqual(['things']);
    expect(await tablesAt(second.endpoint)).toEqual([]);
  });

  it('is not opened while a database of an earlier run still uses the directory', async () => {
    const dataDirectory = await temporaryFolder();
    const left = await start({}); // in place of the database that was left running: only its address is read
    await writeFile(
      join(dataDirectory, 'process.json'),
      JSON.stringify({ pid: process.pid, endpoint: left.endpoint }),
    );
    await expect(startDynamoDb({ dataDirectory })).rejects.toThrow(
      `${dataDirectory} is in use by DynamoDB Local of an earlier run (process ${process.pid}). End it with "kill ${process.pid}" and start again.`,
    );
    await left.stop();
    await start({ dataDirectory });
  });

  it('ends when its parent process ends or is killed, and the next one opens its directory', async () => {
    const dataDirectory = await temporaryFolder();
    const program = join(await temporaryFolder(), 'program.mjs');
    const module = new URL('../../src/dynamodb/index.ts', import.meta.url).href;
    await writeFile(
      program,
      `import { startDynamoDb } from ${JSON.stringify(module)};
       await startDynamoDb({ dataDirectory: process.argv[2] });
       process.send('started');`,
    );
    const temporary = await temporaryFolder();
    const env = { ...process.env, TMPDIR: temporary };
    const child = fork(program, [dataDirectory], { execArgv: [], env });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'message');
    const java = await processOf(dataDirectory);
    expect(isRunning(java)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await start({ dataDirectory });
    expect(isRunning(java)).toBe(false);
    await expect.poll(() => readdir(temporary)).toEqual([]);
  });
});

describe('a database', () => {
  it('has an access key of its own and leaves no temporary files behind', async () => {
    const temporary = await temporaryFolder();
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const one = await start({});
    const other = await start({});
    expect(one.credentials.accessKeyId).toMatch(/^[\da-f]{32}$/);
    expect(other.credentials.accessKeyId).not.toBe(one.credentials.accessKeyId);
    await clientOf(one.endpoint, one.credentials).send(new CreateTableCommand(Things.Properties));
    expect(await readdir(temporary)).toHaveLength(2);
    await Promise.all([one.stop(), other.stop()]);
    expect(await readdir(temporary)).toEqual([]);
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

describe('a database in memory', () => {
  it('is for the service only, which stops when it is killed and reports that the data is lost', async () => {
    const { promise: failure, resolve: onFailure } = Promise.withResolvers<Error>();
    const own = { dynamodbEndpoint: undefined, onFailure };
    const { service } = await serveGreeting(greetingTemplate({ Things }), own);
    const { endpoint, credentials, dynamodbEndpoint = '', dynamodbCredentials } = service;
    expect(await tablesAt(endpoint, credentials)).toEqual(['things']);
    expect(await tablesAt(dynamodbEndpoint)).toEqual([]);
    expect(await tablesAt(dynamodbEndpoint, dynamodbCredentials)).toEqual(['things']);
    await killListener(dynamodbEndpoint);
    expect((await failure).message).toBe(
      'DynamoDB Local ended (SIGKILL). Its data was in memory and is lost.',
    );
    await expect(fetch(service.url)).rejects.toThrow('fetch failed');
  });
});

/** Kills the Java process that was started with a port. */
async function killListener(endpoint: string): Promise<void> {
  const { port } = new URL(endpoint);
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (commandLine.includes(`-port\0${port}\0`)) process.kill(Number(pid), 'SIGKILL');
  }
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
