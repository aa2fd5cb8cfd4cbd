import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';

/** An import, and whether .oxlintrc.json allows it. */
const cases = [
  ['functions/list-pets.ts', "import './http/pipeline.ts'", true],
  ['functions/list-pets.ts', "import '../lib/configuration/stages.ts'", false],
  ['functions/list-pets.ts', "import type { A } from '../tools/seed.ts'", false],
  ['functions/list-pets.ts', "export { a } from '../test/support/pets.ts'", false],
  ['functions/list-pets.ts', "void import('../packages/cdk-offline/src/ports.ts')", false],
  ['functions/list-pets.ts', "import 'cdk-offline'", false],
  ['functions/list-pets.ts', "import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'", true],
  ['functions/list-pets.ts', "import { GetCommand } from '@aws-sdk/lib-dynamodb'", false],
  ['functions/http/respond.ts', "import '../access/limits.ts'", true],
  ['functions/http/respond.ts', "import '../../lib/configuration/stages.ts'", false],
  ['functions/http/respond.ts', "import { QueryCommand } from '@aws-sdk/client-dynamodb'", false],
  ['functions/pets/store.ts', "import { GetCommand } from '@aws-sdk/lib-dynamodb'", true],
  ['functions/pets/store.ts', "import './schema.ts'", true],
  ['functions/pets/store.ts', "import type { A } from '../access/plans.ts'", false],
  ['functions/pets/store.ts', "import '../http/errors.ts'", false],
  ['functions/pets/store.ts', "import type { A } from '../runtime/unix-time.ts'", true],
  ['functions/pets/store.ts', "import '../runtime/environment.ts'", false],
  ['functions/pets/store.ts', "import '../dynamodb/clock.ts'", false],
  ['functions/access/limiter.ts', "import type { A } from '../runtime/unix-time.ts'", true],
  ['functions/access/limiter.ts', "import '../dynamodb/clock.ts'", false],
  ['functions/pets/store.ts', "import '../../lib/configuration/stages.ts'", false],
  ['functions/access/limiter.ts', "import './limits.ts'", true],
  ['functions/access/limiter.ts', "import '../pets/store.ts'", false],
  ['functions/access/limiter.ts', "import '../http/errors.ts'", false],
  ['functions/runtime/deadline.ts', "import './environment.ts'", true],
  ['functions/runtime/deadline.ts', "import '../http/errors.ts'", false],
  ['functions/dynamodb/clock.ts', "import '../runtime/unix-time.ts'", true],
  ['functions/dynamodb/clock.ts', "import '../pets/store.ts'", false],
  ['functions/delivery/checks.ts', "import '../access/keys.ts'", true],
  ['functions/delivery/checks.ts', "import '../../lib/operations.ts'", false],
  ['lib/api/api.ts', "import '../../functions/http/errors.ts'", true],
  ['lib/api/api.ts', "import '../../functions/pets/store.ts'", false],
  ['lib/api/api.ts', "import '../../tools/seed.ts'", false],
  ['lib/app.ts', "import '../functions/access/plans.ts'", true],
  ['lib/app.ts', "import '../functions/access/limits.ts'", false],
  ['lib/app.ts', "import '../packages/cdk-offline/src/ports.ts'", false],
  ['bin/animal-store.ts', "import '../lib/app.ts'", true],
  ['bin/animal-store.ts', "import '../tools/seed.ts'", false],
  ['packages/cdk-offline/src/gateway/router.ts', "import '../ports.ts'", true],
  ['packages/cdk-offline/src/gateway/router.ts', "import '../../../../lib/configuration/stages.ts'", false],
  ['packages/cdk-offline/src/ports.ts', "import type { A } from '../../../functions/access/plans.ts'", false],
] as const;

const report = z.object({
  diagnostics: z.array(z.object({ code: z.string(), filename: z.string() })),
});

describe('the import rules of the linter', () => {
  let folder: string;
  let rejected: ReadonlySet<string>;

  // One file per case, named by its number, in a folder with this project's layout.
  const fileOf = (path: string, index: number) => join(dirname(path), `case-${index}.ts`);

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'import-rules-'));
    copyFileSync('.oxlintrc.json', join(folder, '.oxlintrc.json'));
    for (const [index, [path, source]] of cases.entries()) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      writeFileSync(join(folder, fileOf(path, index)), `${source};\n`);
    }
    const oxlint = join(process.cwd(), 'node_modules', 'oxlint', 'bin', 'oxlint');
    const args = [oxlint, '--format', 'json'];
    const { diagnostics } = report.parse(JSON.parse(run(process.execPath, args, folder)));
    rejected = new Set(
      diagnostics
        .filter(({ code }) => code === 'eslint(no-restricted-imports)')
        .map(({ filename }) => filename.replaceAll('\\', '/')),
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(
    cases.map(
      ([path, source, allowed], index) => [allowed ? 'allow' : 'reject', path, source, index] as const,
    ),
  )('%s in %s: %s', (outcome, path, _source, index) => {
    expect(rejected.has(fileOf(path, index))).toBe(outcome === 'reject');
  });
});

/** Standard output, whatever the exit code. */
function run(command: string, args: readonly string[], cwd: string): string {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8' });
  } catch (error) {
    return z.object({ stdout: z.string() }).parse(error).stdout;
  }
}
