import { examplesOf, type Operation, type Parameter, type Schema } from './document.ts';
import { codeLines } from './highlight.ts';
import { type Html, html } from './html.ts';
import { inlineMarkdown, markdown } from './markdown.ts';

/** What operations share, which the page describes once. */
interface DescribedElsewhere {
  readonly headers: ReadonlySet<string>;
  readonly errors: ReadonlySet<string>;
}

/** The parameters by where they are sent. */
const places = { path: 'Path parameters', query: 'Query parameters', header: 'Request headers' } as const;

/** An operation: what it takes and answers, beside samples, and a form that sends it when `sends` is set. */
export function operationSection(
  operation: Operation,
  { sends, ...elsewhere }: DescribedElsewhere & { readonly sends: boolean },
): Html {
  const { operationId, summary, description, deprecated, method, path, parameters, requestBody } = operation;
  const groups = Object.entries(places).map(([place, title]) => {
    const fields = parameters.filter((each) => each.in === place);
    return fields.length === 0
      ? undefined
      : html`<h3>${title}</h3>
          ${fieldList(fields)}`;
  });
  const body = requestBody?.content['application/json'];
  return html`<section id="${operationId}" class="operation">
    <div>
      ${headingOf(operationId, summary, deprecated ? deprecatedBadge : undefined)}
      <p class="path">${methodBadge(method)} <code>${path}</code></p>
      ${markdown(description)} ${groups}
      ${
        body &&
        html`<h3>Body</h3>
          ${markdown(requestBody.description)}${fieldList(fieldsOf(body.schema))}`
      }
      <h3>Responses</h3>
      ${responseList(operation, elsewhere)}
    </div>
    <div>${samples(operation)}${exampleResponses(operation)}${sends ? form(operation) : undefined}</div>
  </section>`;
}

/** A heading that leads to its own address. */
export function headingOf(id: string, text: Html | string, badge?: Html): Html {
  return html`<h2><a href="#${id}">${text}</a>${badge}</h2>`;
}

export const deprecatedBadge = html` <span class="badge">deprecated</span>`;

/** Names and what they mean. */
export function definitionList(entries: Iterable<readonly [Html, string]>): Html {
  return html`<dl>
    ${Array.from(
      entries,
      ([name, description]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${inlineMarkdown(description)}</dd>
        </div>`,
    )}
  </dl>`;
}

export function methodBadge(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** Everything but where it is sent. */
type Field = Omit<Parameter, 'in'>;

export function fieldsOf({ properties, required }: Schema): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    description: schema.description,
    required: required.includes(name),
  }));
}

export function fieldList(fields: readonly Field[]): Html {
  return html`<dl>
    ${fields.map(
      ({ name, schema, description, required }) =>
        html`<div>
          <dt>
            <code>${name}</code> <span>${typeOf(schema)}</span>${
              required ? html` <span class="required">required</span>` : undefined
            }
          </dt>
          <dd>${inlineMarkdown(description)}${valuesOf(schema)}</dd>
        </div>`,
    )}
  </dl>`;
}

function typeOf({ type, format, minimum, maximum, minLength, maxLength, default: usual }: Schema): string {
  const range = [minimum, maximum].includes(undefined) ? undefined : `${minimum} to ${maximum}`;
  const length =
    minLength === undefined || maxLength === undefined
      ? undefined
      : `${minLength} to ${maxLength} characters`;
  const fallback = usual === undefined ? undefined : `default ${usual}`;
  return [format ?? type, range, length, fallback].filter((part) => part !== undefined).join(', ');
}

function valuesOf({ enum: values }: Schema): Html | undefined {
  return (
    values &&
    html`<br />One of ${values.map((value, index) => html`${index > 0 ? ', ' : ''}<code>${value}</code>`)}.`
  );
}

function responseList({ responses }: Operation, { headers: common, errors }: DescribedElsewhere): Html {
  return html`<dl class="responses">
    ${Object.entries(responses).map(([status, response]) => {
      const { description, headers } = response;
      const isError = status >= '400';
      const own = isError ? [] : Object.entries(headers).filter(([name]) => !common.has(name));
      const codes = isError ? Object.keys(examplesOf(response)) : [];
      const isBrief = errors.has(description);
      return html`<div class="${isBrief ? 'brief' : ''}">
        <dt><span class="status s${status[0]}">${status}</span></dt>
        <dd>
          ${codes.map((code) => html`<a href="#${code}"><code>${code}</code></a> `)}
          ${isBrief ? undefined : inlineMarkdown(description)}
          ${own.map(([name, header]) => html`<br /><code>${name}</code>: ${inlineMarkdown(header.description)}`)}
        </dd>
      </div>`;
    })}
  </dl>`;
}

function samples({ 'x-codeSamples': given }: Operation): Html | undefined {
  const texts = given.map(({ label, source }) => ({ name: label, text: source }));
  return given.length === 0 ? undefined : byTurns('Sample', texts);
}

function exampleResponses({ responses }: Operation): Html {
  const texts = Object.entries(responses).flatMap(([status, response]) => {
    const examples = Object.entries(examplesOf(response));
    if (examples.length === 0) return { name: status, text: 'No body.' };
    return examples.map(([name, { value }]) => ({
      name: name === 'success' ? status : `${status} ${name}`,
      text: JSON.stringify(value, undefined, 2),
    }));
  });
  return byTurns('Response', texts);
}

/** Several texts, of which one is shown. */
function byTurns(title: string, texts: readonly { readonly name: string; readonly text: string }[]): Html {
  return html`<figure class="code">
    <figcaption>
      <label
        >${title}
        <select class="shows" name="${title}">
          ${texts.map(({ name }) => html`<option>${name}</option>`)}
        </select></label
      >
      <button type="button" class="copy">Copy</button>
    </figcaption>
    ${texts.map(
      ({ name, text }, index) =>
        html`<div data-panel="${name}" ${index === 0 ? '' : 'hidden'}>
          ${codeLines(text, `${title} ${name}`)}
        </div>`,
    )}
  </figure>`;
}

function form({ operationId, method, path, parameters, requestBody, responses }: Operation): Html {
  const example = Object.values(requestBody?.content['application/json'].examples ?? {})[0];
  const links = Object.values(responses).flatMap((response) => Object.values(response.links));
  const inputs = parameters.map(({ name, in: place, required, schema }) => {
    const id = `${operationId}-${name}`;
    const attributes = html`id="${id}" name="${name}" data-in="${place}" ${required ? 'required' : ''}`;
    const hint = schema.default ?? schema.examples[0];
    const input =
      schema.enum === undefined
        ? html`<input ${attributes} placeholder="${hint}" autocomplete="off" spellcheck="false" />`
        : html`<select ${attributes}>
            <option value=""></option>
            ${schema.enum.map((value) => html`<option>${value}</option>`)}
          </select>`;
    return html`<label for="${id}">${name}</label>${input}`;
  });
  const text = JSON.stringify(example?.value, undefined, 2);
  const body =
    example &&
    html`<label for="${operationId}-body">Body</label
      ><textarea id="${operationId}-body" name="body" rows="${text.split('\n').length}" spellcheck="false">
${text}</textarea>`;
  return html`<form
    class="try"
    data-method="${method}"
    data-path="${path}"
    data-links="${JSON.stringify(links)}"
  >
    <h3>Try it</h3>
    <div class="inputs">${inputs}${body}</div>
    <button type="submit">Send request</button>
    <div class="answer" role="status"></div>
  </form>`;
}
