import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { operations } from '../../../../functions/operations.ts';
import { ToolError } from '../../../operators/command-line/errors.ts';

const functions = join(import.meta.dirname, '..', '..', '..', '..', 'functions');

/** @param entries of the operations @throws ToolError if one of them has no handler of its own */
export function expectHandlers(entries: readonly string[] = operations.map(({ entry }) => entry)): void {
  for (const entry of entries) {
    const text = textOf(join(functions, `${entry}.ts`));
    if (text !== undefined && new RegExp(String.raw`pipeline\(\s*'${entry}'`).test(text)) continue;
    const problem = text === undefined ? 'does not exist' : `does not call pipeline('${entry}', …)`;
    throw new ToolError(
      'failed',
      `functions/${entry}.ts ${problem}. functions/operations.ts has this operation, whose handler belongs there (CONTRIBUTING.md#add-an-operation).`,
    );
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
