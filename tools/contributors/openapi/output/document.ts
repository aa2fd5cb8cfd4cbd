import { deepStrictEqual } from 'node:assert';
import { STATUS_CODES } from 'node:http';
import { type ErrorCode, errorCatalogue } from '../../../../functions/http/errors.ts';
import { operationName, operations } from '../../../../functions/operations.ts';
import { errorsThatCanLackTheLimit } from '../../../../lib/api/gateway-responses.ts';
import { titleCase } from '../../../../lib/title-case.ts';
import type { JsonObject } from '../bodies.ts';
import { errorsOf, exampleOf, ownMeaningOf } from '../errors.ts';
import {
  commonHeaders,
  type Header,
  headersOfErrors,
  headersOfSuccess,
  type Occurrences,
  specialHeaders,
} from '../headers.ts';
import { apiKey, info, servers, tags } from '../introduction.ts';
import { type Description, descriptions, removalInWords, requestBody } from '../operations.ts';
import { jsonContent, jsonSchemas, referenceTo } from './json-schema.ts';

// The OpenAPI document: what the service enforces (functions/), and what the other files here say of it.

type Operation = (typeof operations)[number];

/** The parts that others refer to. */
class Components {
  readonly headers: Record<string, JsonObject> = {};
  readonly responses: Record<string, JsonObject> = {};

  /** @returns a reference to a part, which is added */
  add(kind: 'headers' | 'responses', name: string, part: JsonObject): JsonObject {
    this[kind][name] ??= part;
    deepStrictEqual(this[kind][name], part, `Two ${kind} of docs/openapi.yaml are called ${name}.`);
    return { $ref: `#/components/${kind}/${name}` };
  }
}

function headers(others: Occurrences, components: Components): JsonObject {
  const all: Readonly<Record<string, Header>> = { ...commonHeaders, ...specialHeaders };
  const always = Object.fromEntries(Object.keys(commonHeaders).map((id) => [id, 'always']));
  return Object.fromEntries(
    Object.entries({ ...always, ...others }).map(([id, occurrence]) => {
      const { name = id, description, schema } = all[id]!;
      const isRequired = occurrence === 'always';
      const header = { description, schema, ...(isRequired && { required: true }) };
      return [name, components.add('headers', isRequired ? id : `${id}.optional`, header)];
    }),
  );
}

/** The answers to errors, by status. */
function errorResponses(operation: Operation, description: Description, components: Components): JsonObject {
  const { deprecated } = operation;
  const byStatus = Map.groupBy(errorsOf(operation, description), (code) => errorCatalogue[code].status);
  const response = (status: number, codes: readonly ErrorCode[]) => {
    const canLackTheLimit = codes.some((code) => errorsThatCanLackTheLimit.has(code));
    return {
      description: codes.map((code) => exampleOf(code).meaning).join(' Or: '),
      headers: headers(headersOfErrors(status, codes, operation, canLackTheLimit), components),
      content: {
        'application/json': {
          schema: referenceTo('Error'),
          examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code).body }])),
        },
      },
    };
  };
  return Object.fromEntries(
    Array.from(byStatus, ([status, codes]) => {
      const words = codes.length === 1 ? codes[0]!.split('_') : STATUS_CODES[status]!.split(' ');
      const name = `${titleCase(words.join('-'))}${deprecated ? '.deprecated' : ''}`;
      const own = ownMeaningOf(status, operation, description);
      const shared = components.add('responses', name, response(status, codes));
      return [String(status), { ...shared, ...(own !== undefined && { description: own }) }];
    }),
  );
}

const tagOf = (path: string): string => titleCase(path.split('/')[1]!);

function described(operation: Operation, components: Components) {
  const { entry, path, deprecated } = operation;
  const description = descriptions[entry];
  const { summary, parameters, request, success } = description;
  return {
    operationId: operationName(entry),
    tags: [tagOf(path)],
    summary,
    ...(deprecated && { deprecated: true }),
    description: removalInWords(operation) + description.description,
    parameters: Object.entries(parameters).map(([name, parameter]) => ({
      name,
      in: parameter.in,
      ...(parameter.in === 'path' && { required: true }),
      description: parameter.description,
      schema: typeof parameter.schema === 'string' ? referenceTo(parameter.schema) : parameter.schema,
    })),
    ...(request && {
      requestBody: {
        required: true,
        description: requestBody,
        content: jsonContent(request, 'request'),
      },
    }),
    responses: {
      [success.status]: {
        description: success.description,
        headers: headers(headersOfSuccess(operation, success.headers), components),
        ...(success.body && { content: jsonContent(success.body, 'success') }),
      },
      ...errorResponses(operation, description, components),
    },
  };
}

/** The document, with the links to other pages that only docs/interface.md has. */
export function describeWithLinks() {
  const components = new Components();
  const paths: Record<string, Record<string, ReturnType<typeof described>>> = {};
  for (const operation of operations)
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = described(operation, components);
  return {
    openapi: '3.1.1',
    info,
    servers,
    security: [{ apiKey: [] }],
    tags: Array.from(new Set(operations.map(({ path }) => tagOf(path))), (name) => {
      const description = tags[name];
      if (description === undefined)
        throw new Error(`Add ${name} to "tags" of tools/contributors/openapi/introduction.ts.`);
      return { name, description };
    }),
    paths,
    components: { schemas: jsonSchemas(), ...components, securitySchemes: { apiKey } },
  };
}

/** The document, as docs/openapi.yaml has it: without ` ([text](page))`. */
export function describeService(): ReturnType<typeof describeWithLinks> {
  const link = / \(\[[^\]]+\]\([^)]+\)\)/g;
  const text = JSON.stringify(describeWithLinks(), (name, value: unknown) =>
    name === 'description' && typeof value === 'string' ? value.replaceAll(link, '') : value,
  );
  return JSON.parse(text) as ReturnType<typeof describeWithLinks>;
}
