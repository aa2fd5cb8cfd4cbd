import { Command, Option } from '@commander-js/extra-typings';
import { usageError } from '../../operators/command-line/errors.ts';
import { expectHandlers } from './output/handlers.ts';
import { runAsProcess, toolOf } from '../../operators/command-line/program.ts';

const program = new Command('npm run openapi --')
  .usage('[--check | --openapi 3.0 FILE]')
  .description(
    'Writes what is derived from the service: docs/openapi.yaml, parts of pages, and the types of the client.',
  )
  .argument('[file]', 'with --openapi: the file to write, YAML, or JSON if its name ends in .json')
  .option('--check', 'write nothing, and fail if something is not up to date', false)
  .addOption(
    new Option('--openapi <version>', 'only write the description in this version, to FILE')
      .choices(['3.0'])
      .conflicts('check'),
  )
  .action(async (file, { check, openapi }) => {
    if ((file === undefined) !== (openapi === undefined))
      throw usageError(
        '--openapi and FILE need each other, as in "npm run openapi -- --openapi 3.0 animals.yaml".',
      );
    // Loads the CDK and the parser of TypeScript, which takes a second.
    const { deriveAll, writeVersion30 } = await import('./output/files.ts');
    expectHandlers();
    if (file === undefined) await deriveAll(check);
    else await writeVersion30(file);
  });
await runAsProcess(toolOf(program));
