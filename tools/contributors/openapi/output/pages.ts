import { errorCatalogue } from '../../../../functions/http/errors.ts';
import { bodies, type BodyName, type JsonObject } from '../bodies.ts';
import { describeWithLinks } from './document.ts';
import { advice, allErrors } from '../errors.ts';
import { commonHeaders, type Header, specialHeaders } from '../headers.ts';
import { permissionsOfTools } from '../permissions.ts';
import { limitsOfPlans, numbersOfPlans } from '../plans.ts';
import { fieldsOf, isRequest, sampleOf } from './json-schema.ts';
import { settings } from '../settings.ts';

// The parts of pages that say what the service enforces, in Markdown.

type Document = ReturnType<typeof describeWithLinks>;
type Operation = Document['paths'][string][string];

const number = new Intl.NumberFormat('en-US');
const list = new Intl.ListFormat('en-GB');

/** A type with its limits, such as `integer from 1 to 100, 20 by default`. */
function typeOf(schema: JsonObject): string {
  const { $ref, type, format, minimum, maximum, default: usual } = schema;
  if (typeof $ref === 'string') return $ref.split('/').at(-1)!;
  const range = [minimum, maximum].map((limit) => number.format(limit as number)).join(' to ');
  return [
    `${String(type)}${minimum === undefined || maximum === undefined ? '' : ` from ${range}`}`,
    ...(format === 'int64' ? ['int64'] : []),
    ...(usual === undefined ? [] : [`${JSON.stringify(usual)} by default`]),
  ].join(', ');
}

/** A description that an earlier body has of a field is not repeated. */
function body(name: BodyName, schemas: Document['components']['schemas'], said: Set<string>): string {
  const { properties = {}, required = [] } = schemas[name] as {
    readonly properties?: Readonly<Record<string, JsonObject>>;
    readonly required?: readonly string[];
  };
  const fields = fieldsOf(name).map(({ field, described: { description }, rules }) => {
    const type = `${typeOf(properties[field]!)}${required.includes(field) ? '' : ', optional'}`;
    const line = `- \`${field}\`: `;
    const isNew = !said.has(line + description);
    said.add(line + description);
    return line + [`${type}.`, ...(isNew ? [description] : []), ...rules].join(' ');
  });
  const needed = required.map((field) => `\`${field}\``);
  const needs = isRequest(name)
    ? ` ${list.format(needed)} ${needed.length === 1 ? 'is' : 'are'} required.`
    : '';
  const sample = fields.length === 0 ? '' : `\`\`\`json\n${JSON.stringify(sampleOf(name))}\n\`\`\`\n\n`;
  return `### ${name}\n\n${bodies[name].description}${needs}\n\n${sample}${fields.join('\n')}\n`;
}

function operation(method: string, path: string, described: Operation): string {
  const { operationId, summary, deprecated, description, parameters, requestBody, responses } = described;
  const parameterLines = parameters.map(
    ({ name, in: place, description: words, schema }) =>
      `- \`${name}\` (${place}, ${typeOf(schema)}): ${words}`,
  );
  const request = requestBody && typeOf(requestBody.content['application/json'].schema);
  const takes =
    request === undefined ? '' : ` The body is a [${request}](#${request.toLowerCase()}), and required.`;
  // Keys that are whole numbers ascend, so success is the first.
  const [[success, { description: meaning }], ...errors] = Object.entries(responses) as [
    [string, { readonly description: string }],
    ...(readonly [string, JsonObject])[],
  ];
  return [
    `### ${summary}${deprecated ? ' (deprecated)' : ''}`,
    `\`${method.toUpperCase()} ${path}\`, operation \`${operationId}\`.${takes}`,
    description,
    ...(parameterLines.length === 0 ? [] : ['Parameters:', parameterLines.join('\n')]),
    'Responses:',
    `- ${success}: ${meaning}\n- ${errors.map(([status]) => status).join(', ')}: [Error](#error).`,
  ].join('\n\n');
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** The generated parts of each page, by their names in its markers. */
export function partsOfPages(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const { components, paths } = describeWithLinks();
  const said = new Set<string>();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operation(method, path, described)),
  );
  const permissions = permissionsOfTools();
  const headers: readonly (readonly [string, Header])[] = Object.entries({
    ...commonHeaders,
    ...specialHeaders,
  });
  return {
    'docs/interface.md': {
      bodies: (Object.keys(bodies) as BodyName[])
        .map((name) => body(name, components.schemas, said))
        .join('\n'),
      operations: operations.join('\n\n'),
      headers: headers.map(([id, { name = id, description }]) => `- \`${name}\`: ${description}`).join('\n'),
      plans: table(limitsOfPlans.head, limitsOfPlans.rows),
    },
    'docs/settings.md': { settings: table(settings.head, settings.rows) },
    'docs/keys.md': { permissions: table(permissions.head, permissions.rows) },
    'docs/limits.md': { plans: table(numbersOfPlans.head, numbersOfPlans.rows) },
    'docs/api.md': {
      errors: table(
        ['Status', '`code`', 'Retry?', 'What to do'],
        allErrors.map((code) => [
          errorCatalogue[code].status,
          `\`${code}\``,
          advice[code].retry,
          advice[code].text,
        ]),
      ),
    },
  };
}

/** A page with its parts replaced. @throws Error if the page lacks the markers of a part */
export function withParts(name: string, page: string, parts: Readonly<Record<string, string>>): string {
  let made = page;
  for (const [part, text] of Object.entries(parts)) {
    const [start, end] = [`<!-- openapi: ${part} -->`, '<!-- openapi: end -->'];
    const from = made.indexOf(start);
    const to = made.indexOf(end, from);
    if (from < 0 || to < 0) throw new Error(`${name} lacks the lines "${start}" and "${end}".`);
    made = `${made.slice(0, from + start.length)}\n\n${text}\n\n${made.slice(to)}`;
  }
  return made;
}
