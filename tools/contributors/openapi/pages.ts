import { errorCatalogue } from '../../../functions/http/errors.ts';
import { operationName, operations } from '../../../functions/operations.ts';
import { bodies, type BodyName } from './bodies.ts';
import { describeService, removalInWords } from './document.ts';
import { advice, allErrors, errorsOf } from './errors.ts';
import { commonHeaders, type Header, type Node, specialHeaders } from './headers.ts';
import { descriptions } from './operations.ts';
import { permissionsOfTools } from './permissions.ts';
import { limitsOfPlans, numbersOfPlans } from './plans.ts';
import { fieldWordsOf, sampleOf } from './schemas.ts';
import { settings } from './settings.ts';
import { onPage } from './words.ts';

// The parts of pages that say what the service enforces, in Markdown.

const number = new Intl.NumberFormat('en-US');
const list = new Intl.ListFormat('en-GB');

/** A type with its limits, such as `integer from 1 to 100, 20 by default`. */
function typeOf(schema: Node): string {
  const { $ref, type, format, minimum, maximum, default: usual } = schema;
  if (typeof $ref === 'string') return $ref.split('/').at(-1)!;
  const range = [minimum, maximum].map((limit) => number.format(limit as number)).join(' to ');
  return [
    `${String(type)}${minimum === undefined || maximum === undefined ? '' : ` from ${range}`}`,
    ...(format === 'int64' ? ['int64'] : []),
    ...(usual === undefined ? [] : [`${JSON.stringify(usual)} by default`]),
  ].join(', ');
}

/** Words that an earlier body has of a field are not repeated. */
function body(name: BodyName, schemas: Readonly<Record<string, Node>>, said: Set<unknown>): string {
  const { words } = bodies[name];
  const { properties = {}, required = [] } = schemas[name] as {
    readonly properties?: Readonly<Record<string, Node>>;
    readonly required?: readonly string[];
  };
  const fields = fieldWordsOf(name).map(({ field, words: ofField, rules }) => {
    const type = `${typeOf(properties[field]!)}${required.includes(field) ? '' : ', optional'}`;
    const isNew = !said.has(ofField);
    said.add(ofField);
    return `- \`${field}\`: ${[`${type}.`, ...(isNew ? [onPage(ofField)] : []), ...rules].join(' ')}`;
  });
  const needed = required.map((field) => `\`${field}\``);
  const isRequest = Object.values(descriptions).some(({ request }) => request === name);
  const needs = isRequest ? ` ${list.format(needed)} ${needed.length === 1 ? 'is' : 'are'} required.` : '';
  const sample = fields.length === 0 ? '' : `\`\`\`json\n${JSON.stringify(sampleOf(name))}\n\`\`\`\n\n`;
  return `### ${name}\n\n${onPage(words)}${needs}\n\n${sample}${fields.join('\n')}\n`;
}

function operation(each: (typeof operations)[number]): string {
  const { entry, method, path, deprecated } = each;
  const description = descriptions[entry];
  const { summary, words, parameters, request, success } = description;
  const parameterLines = Object.entries(parameters).map(
    ([name, { in: place, words: ofParameter, schema }]) => {
      const type = typeof schema === 'string' ? schema : typeOf(schema);
      return `- \`${name}\` (${place}, ${type}): ${onPage(ofParameter)}`;
    },
  );
  const statuses = new Set(errorsOf(each, description).map((code) => errorCatalogue[code].status));
  const takes =
    request === undefined ? '' : ` The body is a [${request}](#${request.toLowerCase()}), and required.`;
  return [
    `### ${summary}${deprecated ? ' (deprecated)' : ''}`,
    `\`${method} ${path}\`, operation \`${operationName(entry)}\`.${takes}`,
    removalInWords(each) + onPage(words),
    ...(parameterLines.length === 0 ? [] : ['Parameters:', parameterLines.join('\n')]),
    'Responses:',
    `- ${success.status}: ${onPage(success.words)}\n- ${[...statuses].join(', ')}: [Error](#error).`,
  ].join('\n\n');
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** The generated parts of each page, by their names in its markers. */
export function partsOfPages(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const { schemas } = describeService().components;
  const said = new Set<unknown>();
  const permissions = permissionsOfTools();
  const headers: readonly (readonly [string, Header])[] = Object.entries({
    ...commonHeaders,
    ...specialHeaders,
  });
  return {
    'docs/interface.md': {
      bodies: (Object.keys(bodies) as BodyName[]).map((name) => body(name, schemas, said)).join('\n'),
      operations: operations.map((each) => operation(each)).join('\n\n'),
      headers: headers.map(([id, { name = id, text }]) => `- \`${name}\`: ${text}`).join('\n'),
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
