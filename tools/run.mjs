// Runs a tool with Node.js 24 or later: the one that runs npm, or the one that `npm ci` installs, which npm puts first in
// the path of its scripts.
// Plain JavaScript, because Node.js 20 to 23 must be able to read it to say what to do.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const oldestMajor = 24;
/** tools/operators/command-line/errors.ts has the same code. */
const exitCodeOfUsage = 2;
/** The platform as the packages with Node.js name it. */
const platform = process.platform === 'win32' ? 'win' : process.platform;
const project = dirname(dirname(fileURLToPath(import.meta.url)));
/** The script of each tool, and its first arguments. */
const tools = new Map([
  ['start', ['tools/contributors/local/start.ts', 'start']],
  ['dev', ['tools/contributors/local/start.ts', 'dev']],
  ['keys', ['tools/operators/keys/main.ts']],
  ['pets', ['tools/operators/pets/main.ts']],
  ['smoke', ['tools/operators/smoke/main.ts']],
  ['docs', ['tools/contributors/reference/docs.ts']],
  ['openapi', ['tools/contributors/openapi/main.ts']],
  ['update-dependencies', ['tools/contributors/update-dependencies.ts']],
  ['soak', ['test/reliability/soak.ts']],
  ['deploy', ['tools/operators/deploy/main.ts', 'deploy']],
  ['roll-back', ['tools/operators/deploy/main.ts', 'roll-back']],
  ['on-call-policy', ['tools/operators/deploy/main.ts', 'on-call-policy']],
  ['diff', ['tools/operators/deploy/main.ts', 'diff']],
  ['compare-templates', ['tools/operators/deploy/compare-templates.ts']],
  ['cdk', ['node_modules/aws-cdk/bin/cdk']],
  ['test', ['node_modules/vitest/vitest.mjs', 'run']],
]);
/** The options of the tools, and `call`, which is npm's name for `-c`. A test compares them with the tools. */
const optionsOfTools =
  'added-by allow-invalid animals app call check confirm-loss context cursor data database days dry-run file for inspect json-logs keys-file ' +
  'limit malformed name note openapi output overlap owner per-day per-minute plan port profile rate read-only region replace ' +
  'require-approval seconds shorten skip-pre-traffic-checks stage status table url wait';
const [, , tool = '', ...options] = process.argv;
const usage = `Usage: node tools/run.mjs TOOL [OPTIONS]

Runs a tool of this project with Node.js ${oldestMajor} or later. "TOOL --help" shows its options.

Tools: ${[...tools.keys()].join(', ')}`;
if (tool === '--help' || tool === '-h') {
  console.log(usage);
  process.exit();
}
const takenByNpm = optionsOfTools
  .split(' ')
  .find((name) => (process.env[`npm_config_${name.replaceAll('-', '_')}`] ?? '') !== '');
if (takenByNpm !== undefined)
  fail(
    `npm has taken ${takenByNpm === 'call' ? '-c' : `--${takenByNpm}`} for itself. Write "--" before the options, as in: ` +
      'npm run keys -- list --stage prod',
    exitCodeOfUsage,
  );
const [entry, ...first] =
  tools.get(tool) ??
  fail(
    `${tool === '' ? 'The tool is missing.' : `There is no tool ${asJson(tool)}.`}\n\n${usage}`,
    exitCodeOfUsage,
  );
const script = join(project, entry);
const args = [...first, ...options];

// npm writes this file at the end of an installation.
if (!existsSync(join(project, 'node_modules', '.package-lock.json'))) {
  fail(`The packages are not installed. Run "npm ci" in ${project}, then try again.`);
}

const node = chosenNode();
// The processes that the tool starts use it, too.
process.env.PATH = [dirname(node), process.env.PATH].join(delimiter);
// Vitest colours its output also for CI, where it is a file.
if (tool === 'test' && !process.stdout.isTTY && process.env.FORCE_COLOR === undefined)
  process.env.NO_COLOR ??= '1';
// vitest.config.ts
if (tool === 'test' && options.length === 0 && process.env.CI === undefined && process.env.FULL === undefined)
  console.error(
    'Left out: the slowest files, which vitest.config.ts lists. "npm run test:all" runs all tests.',
  );
const mustStartAgain = [bypassProxy(), trustCertificates()].includes(true);
if (node === process.execPath && !mustStartAgain) {
  withoutTypeStrippingWarning();
  process.argv = [process.argv[0], script, ...args];
  await import(pathToFileURL(script).href);
} else {
  runWith(node);
}

/** The Node.js that runs npm, or this one; if both are too old, the one of the project's packages. */
function chosenNode() {
  const { npm_node_execpath: ofNpm = process.execPath } = process.env;
  const system = [ofNpm, process.execPath].find((each) => isRecent(each) && !isInstalled(each));
  if (system !== undefined) return system;
  warnIfBehind();
  return isRecent(process.execPath) ? process.execPath : installedNode();
}

/** npm does not have the newest Node.js for every platform. */
function warnIfBehind() {
  const { optionalDependencies = {} } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
  const packages = Object.entries(optionalDependencies).filter(([name]) => name.startsWith('node-'));
  const own = packages.find(([name]) => name.endsWith(`-${platform}-${process.arch}`))?.[1];
  const isNewer = (a, b) => a.localeCompare(b, 'en', { numeric: true }) > 0;
  const newest = packages.map(([, version]) => version).reduce((a, b) => (isNewer(a, b) ? a : b), '');
  if (own === undefined || own === newest) return;
  console.error(
    `npm has no newer Node.js for this machine than ${own}, which lacks the security fixes up to ${newest}. ` +
      `Install Node.js ${oldestMajor} or later from https://nodejs.org: the project then runs on it.`,
  );
}

/** The tools call local services, which no proxy reaches. Node.js reads this when it starts. */
function bypassProxy() {
  const { NODE_USE_ENV_PROXY, NODE_OPTIONS = '' } = process.env;
  if (NODE_USE_ENV_PROXY !== '1' && !NODE_OPTIONS.includes('--use-env-proxy')) return false;
  const name = process.env.no_proxy === undefined ? 'NO_PROXY' : 'no_proxy';
  const hosts = (process.env[name] ?? '').split(',').filter((host) => host !== '');
  if (hosts.includes('127.0.0.1')) return false;
  process.env[name] = [...hosts, '127.0.0.1', 'localhost', '::1'].join(',');
  return true;
}

/** The AWS CLI and the CDK read this variable, and the SDK does not. Node.js reads its own when it starts. */
function trustCertificates() {
  const { AWS_CA_BUNDLE: bundle, NODE_EXTRA_CA_CERTS: extra } = process.env;
  if (bundle === undefined || extra !== undefined) return false;
  process.env.NODE_EXTRA_CA_CERTS = bundle;
  return true;
}

function isInstalled(file) {
  return file.startsWith(join(project, 'node_modules'));
}

function isRecent(file) {
  const version =
    file === process.execPath ? process.version : spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout;
  return majorOf(version) >= oldestMajor;
}

/** Node.js from the project's packages. */
function installedNode() {
  const installed =
    platform === 'win'
      ? join(project, 'node_modules', `node-win-${process.arch}`, 'bin', 'node.exe')
      : join(project, 'node_modules', '.bin', 'node');
  if (isRecent(installed)) return installed;
  return fail(
    `Node.js ${oldestMajor} or later is required (this is ${process.version}), and the project's packages have none for this machine. ` +
      `Run "npm ci --include=optional", or install Node.js ${oldestMajor} from https://nodejs.org.`,
  );
}

function runWith(file) {
  const child = spawn(file, [script, ...args], { stdio: 'inherit' });
  // The terminal sends Ctrl-C to both processes; this one waits for the other to end.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

/** Node.js 24.0 to 24.2 warn that type stripping is experimental, which 24.3 no longer does. */
function withoutTypeStrippingWarning() {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).startsWith('Type Stripping')) emitWarning(warning, ...rest);
  };
}

function majorOf(version) {
  return Number(/^v(\d+)\./.exec(version ?? '')?.[1] ?? 0);
}

/** Nothing in it changes what a terminal shows. */
function asJson(text) {
  return JSON.stringify(text).replaceAll(/[^ -~]/g, '?');
}

function fail(message, exitCode = 1) {
  console.error(message);
  process.exit(exitCode);
}
