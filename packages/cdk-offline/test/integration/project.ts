import { mkdir, mkdtemp, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { removeDirectory } from './template.ts';

/** A real CDK app with a function that the CDK bundles, written for the time of a test. */

const app = `
import { App, Stack } from 'aws-cdk-lib';
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { path } from './path.ts';
const app = new App();
const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
if (!account || !region) throw new Error('no environment');
const stack = new Stack(app, 'Greeting', { env: { account, region } });
const bundling = { minify: true, sourceMap: true, define: { 'process.env.MARK': '"a \\'b\\'"' } };
const greet = new NodejsFunction(stack, 'Greet', { entry: 'src/greet.ts', runtime: Runtime.NODEJS_24_X, bundling });
const api = new RestApi(stack, 'Api', { cloudWatchRole: false });
api.root.addResource(path).addMethod('GET', new LambdaIntegration(greet));
`;

export const words = (text: string) => `export const words: string = '${text}';\n`;

/** @returns its folder */
export async function newProject(): Promise<string> {
  // In the repository, so that the app finds the CDK.
  await mkdir('.local', { recursive: true });
  const folder = await realpath(await mkdtemp(join('.local', 'project ü-')));
  onTestFinished(() => removeDirectory(folder));
  for (const name of ['bin', 'src']) await mkdir(join(folder, name));
  await symlink(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
  for (const [name, text] of Object.entries({
    'cdk.json': JSON.stringify({
      app: 'node --require ./hook.cjs bin/app.cdk app.ts',
      watch: { include: '**', exclude: ['notes'] },
    }),
    'package.json': '{ "type": "module" }',
    'package-lock.json': '{}',
    // Like ts-node: a hook of `require` runs files that Node.js does not.
    'hook.cjs': `require.extensions['.cdk'] = (module) => module._compile("require('../app.ts')", module.filename);`,
    'bin/app.cdk': '',
    'bin/package.json': '{}',
    'app.ts': app,
    'path.ts': `export const path: string = 'greet';\n`,
    'src/greet.ts': `import { words } from './words.ts';
      export const handler = async () => ({ statusCode: 200, body: words + ' ' + process.env.MARK });\n`,
    'src/words.ts': words('one'),
  }))
    await writeFile(join(folder, name), text);
  return folder;
}
