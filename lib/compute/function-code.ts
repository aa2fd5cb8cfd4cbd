import { join } from 'node:path';
import { Stack, Stage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { FunctionEntry } from '../../functions/operations.ts';

const project = join(import.meta.dirname, '..', '..');
const bundler = join(import.meta.dirname, '..', 'bundler', 'command.ts');

/** The bundled code of a function. The asset's hash is that of the bundle, so an unchanged function is not redeployed. */
export function functionCode(scope: Construct, entry: FunctionEntry, minify: boolean): Code {
  // The CDK needs no code to destroy a stack, and tests of the template need none.
  if (!Stack.of(scope).bundlingRequired) return Code.fromAsset(join(project, 'functions'));
  const output = join(Stage.of(scope)!.outdir, 'bundles', minify ? entry : `${entry}-development`);
  const mode = minify ? [] : ['--development'];
  return Code.fromCustomCommand(output, [
    process.execPath,
    bundler,
    `functions/${entry}.ts`,
    output,
    ...mode,
  ]);
}
