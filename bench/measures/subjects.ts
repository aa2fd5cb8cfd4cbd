import type { FunctionEntry } from '../../functions/operations.ts';
import { buildBare, buildFunction, buildPeer } from '../harness/build.ts';
import { type Invocation, invocations, type SubjectDefinition } from '../harness/cold-starts.ts';

/** A function of the service, as deployed. */
function ofService(entry: FunctionEntry, invocation: Invocation): SubjectDefinition {
  const build = (directory: string) => buildFunction(entry, directory);
  return { name: entry, build, handler: `${entry}.handler`, entry, invocation };
}

/** The same operation, built of well-known packages. */
function ofParts(file: 'list' | 'create', entry: FunctionEntry, invocation: Invocation): SubjectDefinition {
  const build = (directory: string) => buildPeer(`parts/${file}.mjs`, directory);
  return { name: `${file}, of parts`, build, handler: `${file}.handler`, entry, invocation };
}

export const subjects = {
  list: ofService('list-pets', invocations.list),
  create: ofService('create-pet', invocations.createOnce),
  authorizer: ofService('authorizer', invocations.authorize),
  listOfParts: ofParts('list', 'list-pets', invocations.list),
  createOfParts: ofParts('create', 'create-pet', invocations.createOnce),
  bare: {
    name: 'bare handler',
    build: buildBare,
    handler: 'bare.list',
    entry: 'list-pets',
    invocation: invocations.list,
  },
} as const satisfies Readonly<Record<string, SubjectDefinition>>;
