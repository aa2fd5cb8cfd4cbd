import { mkdir, mkdtemp, realpath, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve, synthesize, watch, type WatchOptions } from 'cdk-offline';
import { buildFunctions } from 'cdk-offline/esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cdkBundles } from '../../src/dev/cdk-bundles.ts';
import { plainFolders } from '../../src/dev/plain-folders.ts';
import { startGate } from './gate.ts';
import { greetingAssembly, greetingStack, greetingTemplate, serveGreeting, stage } from './greeting.ts';
import { manifestOf, removeDirectory, resource } from './template.ts';

/** Writes the assembly of the stack, with the function built from code/greet.ts, as a CDK app does. */
const app = `
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { part } from './code/part.ts';
import { template } from './template.mjs';
const folder = process.env.CDK_OUTDIR;
const { fails } = JSON.parse(process.env.CDK_CONTEXT_JSON);
if (fails) throw new Error('the app fails');
await build({ entryPoints: ['code/greet.ts'], outfile: join(folder, 'asset', 'index.mjs'), bundle: true, format: 'esm' });
const key = createHash('sha256').update(await readFile(join(folder, 'asset', 'index.mjs'))).digest('hex') + '.zip';
const files = { one: { source: { path: 'asset', packaging: 'zip' }, destinations: { here: { objectKey: key } } } };
const text = JSON.stringify(template).replaceAll('PART', part).replaceAll('greet.zip', key);
await writeFile(join(folder, 'manifest.json'), '${JSON.stringify(manifestOf([greetingStack]))}');
await writeFile(join(folder, 'assets.json'), JSON.stringify({ files }));
await writeFile(join(folder, '${greetingStack}.template.json'), text);
`;

const paths = { Path: resource('PART') };

const greet = `import { words } from './words.ts';
export const handler = async () => ({ statusCode: 200, body: words });`;

async function newProject(): Promise<string> {
  // In the repository, so that the app finds esbuild.
  await mkdir('.local', { recursive: true });
  const project = await realpath(await mkdtemp(join('.local', 'watch-')));
  onTestFinished(() => removeDirectory(project));
  await mkdir(join(project, 'code'));
  const template = JSON.stringify(greetingTemplate(paths));
  for (const [name, text] of Object.entries({
    'cdk.json': JSON.stringify({ app: 'node app.mjs', context: { fails: true } }),
    'cdk.context.json': '{}',
    'app.mjs': app,
    'template.mjs': `export const template = ${template};`,
    'code/part.ts': `export const part: string = 'greet';`,
    'code/greet.ts': greet,
    'code/words.ts': words('one'),
  }))
    await writeFile(join(project, name), text);
  return project;
}

async function start(
  options: (project: string) => Partial<WatchOptions> = () => ({}),
  ...[ofWords = words('one'), ofGreet = greet]: readonly string[]
) {
  const project = await newProject();
  await writeFile(join(project, 'code/words.ts'), ofWords);
  await writeFile(join(project, 'code/greet.ts'), ofGreet);
  const synthesizeProject = (assembly: string) =>
    synthesize(assembly, { project, context: { fails: false } });
  const service = await serve({ assembly: synthesizeProject, stack: greetingStack });
  onTestFinished(() => service.stop());
  const messages: string[] = [];
  const stop = await watch(service, {
    folders: [project],
    synthesize: synthesizeProject,
    onMessage: (message) => void messages.push(message),
    ...options(project),
  });
  onTestFinished(stop);
  return {
    get: async (path = '/greet') => (await fetch(service.url + path)).text(),
    save: async (name: string, text: string) => writeFile(join(project, name), text),
    /** As safe-write editors do. */
    saveByRename: async (name: string, text: string) => {
      await writeFile(join(project, `${name}.tmp`), text);
      await rename(join(project, `${name}.tmp`), join(project, name));
    },
    message: async (pattern: RegExp) => {
      await expect.poll(() => messages.join('\n'), { timeout: 60_000 }).toMatch(pattern);
      messages.length = 0;
    },
  };
}

const withBuilds = (project: string): Partial<WatchOptions> => ({
  functions: buildFunctions({
    folder: join(project, 'code'),
    app: join(project, 'app.mjs'),
    bundle: (_, outputDirectory) => ({
      absWorkingDir: project,
      entryPoints: ['code/greet.ts'],
      outfile: join(outputDirectory, 'index.mjs'),
      bundle: true,
      format: 'esm',
    }),
  }),
});

const tracing = `import { place } from './words.ts';
export const handler = async () => ({ statusCode: 200, body: place() });`;

const words = (text: string) => `export const words: string = '${text}';`;
const templateModule = (changes: Readonly<Record<string, object>>) =>
  `export const template = ${JSON.stringify(greetingTemplate(changes))};`;

describe('watch', () => {
  it('synthesizes the app again when a file is saved', async () => {
    const { get, save, message } = await start();
    expect(await get()).toBe('one');
    await save('code/words.ts', words('two'));
    await message(/^[\d:]{8} Applied the stack \(\d+ ms\)$/m);
    expect(await get()).toBe('two');
  });

  it('names a folder that does not exist', async () => {
    const { service } = await serveGreeting();
    const options = { folders: ['/nonexistent'], synthesize: async () => {}, onMessage: () => {} };
    await expect(watch(service, options)).rejects.toThrow(
      '/nonexistent cannot be watched: it is not a folder.',
    );
  });

  it('builds only the function when its code is saved, and synthesizes when the app imports the file', async () => {
    const { get, save, saveByRename, message } = await start(withBuilds);
    for (const [word, saveOnce] of Object.entries({ two: save, three: saveByRename, four: saveByRename })) {
      await saveOnce('code/words.ts', words(word));
      await message(/^[\d:]{8} Applied Greet \(\d+ ms\)$/);
      expect(await get()).toBe(word);
    }
    await save('code/part.ts', `export const part: string = 'hello';`);
    await message(/^[\d:]{8} Applied the stack \(\d+ ms\)$/);
    expect(await get('/hello')).toBe('four');
  });

  it('applies a function while the app is synthesized, and what was saved last is served after it', async () => {
    const gate = await startGate();
    const { get, save, message } = await start(withBuilds);
    await save('template.mjs', `await fetch('${gate.url}');\n${templateModule(paths)}`);
    await gate.reached;
    await save('code/words.ts', words('two'));
    await message(/^[\d:]{8} Applied Greet/);
    expect(await get()).toBe('two');
    // The synthesis has read the code before: it writes an older assembly.
    await save('code/words.ts', words('one'));
    await message(/^[\d:]{8} Applied Greet/);
    await save('code/words.ts', words('three'));
    await message(/^[\d:]{8} Applied Greet/);
    gate.open();
    await message(/Applied the stack/);
    await expect.poll(() => get(), { timeout: 60_000 }).toBe('three');
  });

  it('gives stack traces the lines of the sources, before the first change and after it', async () => {
    const { get, save, message } = await start(
      (project) => {
        const { functions: _, ...rest } = withBuilds(project);
        const bundle = (__: unknown, outputDirectory: string) => ({
          absWorkingDir: project,
          entryPoints: ['code/greet.ts'],
          outfile: join(outputDirectory, 'index.mjs'),
          bundle: true,
          format: 'esm' as const,
          sourcemap: 'inline' as const,
        });
        const sources = { folder: join(project, 'code'), app: join(project, 'app.mjs'), bundle };
        return { ...rest, functions: buildFunctions(sources) };
      },
      `export const words: string = '';\n\nexport const place = () => new Error('here').stack;`,
      tracing,
    );
    expect(await get()).toContain('code/words.ts:3:');
    await save('code/words.ts', `\n\n\n\nexport const place = () => new Error('there').stack;`);
    await message(/Applied Greet/);
    expect(await get()).toContain('code/words.ts:5:');
  });

  it('says that a refused change is not applied, and that it is undone', async () => {
    const { get, save, message } = await start(withBuilds);
    await save('code/words.ts', `export const words: string = ;`);
    await message(/code\/words\.ts:1:29:[\s\S]*\nNot applied: Greet\. The service goes on as before\.$/);
    await save('code/words.ts', words('one'));
    await message(/^Undone: Greet is served as the files say\.$/);

    await save('template.mjs', templateModule({ ...paths, Stage: stage('v2') }));
    await message(/^The API or its stage has another name\. Restart to apply it\.\nNot applied: the stack\./);
    await save('code/words.ts', words('two'));
    await message(/^[\d:]{8} Applied Greet \(\d+ ms\)\nStill not applied: the stack\.$/);
    await save('app.mjs', `throw new Error('at the app');`);
    await message(/The CDK app failed:[\s\S]*at the app[\s\S]*Not applied/);
    expect(await get()).toBe('two');
    await save('template.mjs', templateModule(paths));
    await message(/Not applied: the stack/);
    await save('app.mjs', app);
    await message(/^[\d:]{8} Applied the stack/);
    expect(await get()).toBe('two');
  });
});

/** Builds with what the CDK recorded: a function whose code is not what its source gives now is not built. */
const withRecordedBuilds = (project: string): Partial<WatchOptions> => {
  const args = [
    'code/greet.ts',
    '--bundle',
    '--format=esm',
    `--outfile=${join(project, 'out', 'index.mjs')}`,
  ];
  const bundle = cdkBundles(() => [JSON.stringify({ command: 'esbuild', args, cwd: project })]);
  return { functions: buildFunctions({ app: join(project, 'app.mjs'), bundle }) };
};

const patiently = { timeout: 30_000 };

/** A synthesis that waits before it reads the sources, and again before it ends. */
function heldSynthesis() {
  const [started, reads, hasRead, ends] = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const hold = (synthesizeProject: (assembly: string) => Promise<void>) => async (assembly: string) => {
    started?.resolve();
    await reads?.promise;
    try {
      await synthesizeProject(assembly);
    } finally {
      hasRead?.resolve();
      await ends?.promise;
    }
  };
  const stages = [
    { begins: started?.promise, end: () => reads?.resolve() },
    { begins: hasRead?.promise, end: () => ends?.resolve() },
    { begins: Promise.resolve(), end: () => {} },
  ];
  return { hold, stages };
}

describe('a handler that is broken and mended around a synthesis', () => {
  const broken = `export const words: string = ;`;
  const builds = { 'given builds': withBuilds, 'recorded builds': withRecordedBuilds };
  const cases = Object.keys(builds).flatMap((build) =>
    // When it is saved: before the synthesis reads the sources, before it ends, or after.
    [
      { breaks: 0, mends: 1, word: 'one' },
      { breaks: 0, mends: 2, word: 'two' },
      { breaks: 1, mends: 1, word: 'two' },
      { breaks: 1, mends: 2, word: 'one' },
    ].map((order) => ({ build: build as keyof typeof builds, ...order })),
  );
  it.for(cases)('is served: $build, broken at $breaks, mended at $mends to "$word"', async (given) => {
    const { build, breaks, mends, word } = given;
    const { hold, stages } = heldSynthesis();
    const messages: string[] = [];
    const { get, save } = await start((project) => ({
      ...builds[build](project),
      synthesize: hold((assembly) => synthesize(assembly, { project, context: { fails: false } })),
      onMessage: (message) => void messages.push(message),
    }));
    await save('code/part.ts', `export const part: string = 'hello';`);
    for (const [at, { begins, end }] of stages.entries()) {
      await begins;
      if (at === breaks) {
        await save('code/words.ts', broken);
        await expect.poll(() => messages.join('\n'), patiently).toMatch(/Not applied: (?:Greet|the stack)/);
      }
      if (at === mends) await save('code/words.ts', words(word));
      end();
    }
    await expect.poll(() => get('/hello'), patiently).toBe(word);
    messages.length = 0;
    await save('code/words.ts', words('three'));
    await expect.poll(() => get('/hello'), patiently).toBe('three');
    await expect.poll(() => messages.join('\n'), patiently).toMatch(/Applied/);
    expect(messages.join('\n')).not.toMatch(/not applied/i);
  });
});

describe('synthesize', () => {
  it('rejects with the output of the app when it fails', async () => {
    const project = await newProject();
    const assembly = await mkdtemp(join(tmpdir(), 'assembly-'));
    onTestFinished(() => removeDirectory(assembly));
    await expect(synthesize(assembly, { project })).rejects.toThrow(
      /^The CDK app failed:\n[\s\S]*the app fails/,
    );
  });
});

it('a function that is a folder of the app is served from there without a synthesis', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'plain-')));
  onTestFinished(() => removeDirectory(folder));
  const save = (body: string) =>
    writeFile(
      join(folder, 'index.mjs'),
      `export const handler = async () => ({ statusCode: 200, body: ${body} });`,
    );
  await save(`'one'`);
  // As with the context "aws:cdk:disable-asset-staging".
  const assembly = await greetingAssembly(greetingTemplate({}, { Code: { S3Key: 'plain.zip' } }));
  const asset = {
    source: { path: folder, packaging: 'zip' },
    destinations: { here: { objectKey: 'plain.zip' } },
  };
  await writeFile(join(assembly, 'assets.json'), JSON.stringify({ files: { asset } }));
  const { service, get } = await serveGreeting(undefined, { assembly });
  const messages: string[] = [];
  const stop = await watch(service, {
    folders: [folder],
    synthesize: () => Promise.reject(new Error('not needed')),
    functions: plainFolders(assembly, undefined),
    onMessage: (message) => void messages.push(message),
  });
  onTestFinished(stop);
  const printed = async (pattern: RegExp) => {
    await expect.poll(() => messages.join('\n'), { timeout: 60_000 }).toMatch(pattern);
  };
  expect(await (await get()).text()).toBe('one');
  await save(`'two'`);
  await printed(/^[\d:]{8} Applied Greet \(\d+ ms\)$/);
  expect(await (await get()).text()).toBe('two');
  await save(`'three`);
  await printed(/Not applied: Greet\. The service goes on as before\.$/);
  expect(await (await get()).text()).toBe('two');
  messages.length = 0;
  await save(`'four'`);
  await printed(/^[\d:]{8} Applied Greet /);
  expect(await (await get()).text()).toBe('four');
  expect(messages.join()).not.toContain('not needed');
});
