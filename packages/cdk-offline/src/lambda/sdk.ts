import { createRequire, registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Offers the AWS SDK to the functions of this thread, as the Lambda runtime does: for what the function's own code does
 * not bring, from the first folder that has the package installed, else from cdk-offline's dependencies.
 *
 * https://docs.aws.amazon.com/lambda/latest/dg/lambda-nodejs.html#nodejs-sdk-included
 *
 * @param onUse called with the path of each module that is offered and used
 */
export function offerSdk(folders: readonly string[], onUse: (path: string) => void): void {
  const installations = [
    ...folders.map((folder) => createRequire(join(folder, 'package.json'))),
    createRequire(import.meta.url),
  ];
  let searching = false;
  registerHooks({
    resolve: (specifier, context, nextResolve) => {
      try {
        return nextResolve(specifier, context);
      } catch (error) {
        if (searching || !isOffered(specifier) || !isMissing(error)) throw error;
        searching = true;
        try {
          const path = find(specifier, installations);
          if (path === undefined) throw notInstalled(specifier, error);
          onUse(path);
          return { url: pathToFileURL(path).href, shortCircuit: true };
        } finally {
          searching = false;
        }
      }
    },
  });
}

/** Version 3, which the runtime has from Node.js 18 on. */
function isOffered(specifier: string): boolean {
  return /^@(?:aws-sdk|smithy)\//.test(specifier);
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'MODULE_NOT_FOUND' || error.code === 'ERR_MODULE_NOT_FOUND')
  );
}

function find(specifier: string, installations: readonly NodeJS.Require[]): string | undefined {
  for (const { resolve } of installations) {
    try {
      return resolve(specifier);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return undefined;
}

function notInstalled(specifier: string, cause: unknown): Error {
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  const message = `Cannot find module '${specifier}'. The Lambda runtime has it: install it in the app, with "npm install --save-dev ${name}".`;
  return Object.assign(new Error(message, { cause }), { code: 'MODULE_NOT_FOUND' });
}
