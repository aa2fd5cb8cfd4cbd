import type { Operation, Parameter, Response, Schema } from './document.ts';
import { type Html, html } from './html.ts';
import { codeLines, inlineMarkdown, markdown } from './markdown.ts';

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
      <h2>${summary}${deprecated ? html` <span class="badge">Deprecated</span>` : undefined}</h2>
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
    ${Object.entries(responses).map(([status, { description, headers, content }]) => {
      const isError = status >= '400';
      const own = isError ? [] : Object.entries(headers).filter(([name]) => !common.has(name));
      const codes = isError ? Object.keys(content['application/json'].examples) : [];
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

function samples({ operationId, 'x-codeSamples': given }: Operation): Html {
  return html`<figure class="code sample">
    <figcaption>
      <fieldset>
        <legend>Language of the sample</legend>
        ${given.map(
          ({ label }, index) =>
            html`<label
              ><input
                type="radio"
                name="language-${operationId}"
                value="${label}"
                ${index === 0 ? 'checked' : ''}
              />${label}</label
            >`,
        )}
      </fieldset>
      <button type="button" class="copy">Copy</button>
    </figcaption>
    ${given.map(({ label, source }, index) => panel(label, index, codeLines(source, `${label} sample`)))}
  </figure>`;
}

function exampleResponses({ responses }: Operation): Html {
  const given = Object.entries(responses).flatMap(([status, response]) =>
    Object.entries(examplesOf(response)).map(([name, { value }]) => ({
      name: name === 'success' ? status : `${status} ${name}`,
      text: JSON.stringify(value, undefined, 2),
    })),
  );
  return html`<figure class="code">
    <figcaption>
      <label
        >Response
        <select class="shows">
          ${given.map(({ name }) => html`<option>${name}</option>`)}
        </select></label
      >
      <button type="button" class="copy">Copy</button>
    </figcaption>
    ${given.map(({ name, text }, index) => panel(name, index, codeLines(text, `Response ${name}`)))}
  </figure>`;
}

function examplesOf({ content }: Response) {
  return content['application/json'].examples;
}

/** One of several that are shown by turns. */
function panel(value: string, index: number, content: Html): Html {
  return html`<div data-panel="${value}" ${index === 0 ? '' : 'hidden'}>${content}</div>`;
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
