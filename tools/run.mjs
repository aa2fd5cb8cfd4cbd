// Runs a tool with Node.js 24 or later: this one, or the one that `npm ci` installs.
// Plain JavaScript, because Node.js 18 to 23 must be able to read it to say what to do.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const oldestMajor = 24;
const project = dirname(dirname(fileURLToPath(import.meta.url)));
/** The script of each tool, and its first arguments. */
const tools = new Map([
  ['start', ['local/main.ts', 'start']],
  ['dev', ['local/main.ts', 'dev']],
  ['keys', ['keys/main.ts']],
  ['pets', ['pets/main.ts']],
  ['versions', ['versions/main.ts']],
  ['smoke', ['smoke/main.ts']],
  ['docs', ['reference/main.ts']],
]);
const [, , tool = '', ...options] = process.argv;
const [file, ...first] =
  tools.get(tool) ??
  fail(`Usage: node tools/run.mjs ${[...tools.keys()].join('|')} [OPTIONS] (got "${tool}")`);
const script = join(project, 'tools', file);
const args = [...first, ...options];

// npm writes this file at the end of an installation.
if (!existsSync(join(project, 'node_modules', '.package-lock.json'))) {
  fail(`The packages are not installed. Run "npm ci" in ${project}, then try again.`);
}

if (majorOf(process.version) >= oldestMajor) {
  withoutTypeStrippingWarning();
  process.argv = [process.argv[0], script, ...args];
  await import(pathToFileURL(script).href);
} else {
  runWith(installedNode());
}

/** Node.js from the project's packages. */
function installedNode() {
  const node =
    process.platform === 'win32'
      ? join(project, 'node_modules', `node-win-${process.arch}`, 'bin', 'node.exe')
      : join(project, 'node_modules', '.bin', 'node');
  const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (majorOf(stdout) >= oldestMajor) return node;
  return fail(
    `Node.js ${oldestMajor} or later is required (this is ${process.version}), and the project's packages have none for this machine. ` +
      `Run "npm ci --include=optional", or install Node.js ${oldestMajor} from https://nodejs.org.`,
  );
}

function runWith(node) {
  const child = spawn(node, [script, ...args], { stdio: 'inherit' });
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

function fail(message) {
  console.error(message);
  process.exit(1);
}
