import { codeLines } from '../highlight.ts';
import { html } from '../html.ts';
import { indentJson } from './indent-json.ts';
import { sampleWith, type Value } from './samples.ts';

/** What the API reference does in the browser: shows samples by language, copies, sends requests. */

const all = <E extends Element>(selector: string, inside: ParentNode = document): E[] => [
  ...inside.querySelectorAll<E>(selector),
];

// On a narrow screen the contents cover the page until one is chosen.
const contents = document.querySelector<HTMLDetailsElement>('nav details')!;
const narrow = matchMedia('(max-width: 60rem)');
const fold = () => (contents.open = !narrow.matches);
fold();
narrow.addEventListener('change', fold);
contents.addEventListener('click', ({ target }) => (target as Element).closest('a') && fold());

// The contents show which section is at the top.
const links = all<HTMLAnchorElement>('nav a[href^="#"]');
const sections = all('main section[id], article h2[id]');
function markSection(): void {
  const current = sections.findLast((section) => section.getBoundingClientRect().top < 80);
  for (const link of links) {
    if (link.hash === `#${current?.id}`) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}
addEventListener('scroll', markSection, { passive: true });
markSection();

/** Shows the chosen panel of a figure, and hides the others. */
function show(select: HTMLSelectElement): void {
  for (const panel of all<HTMLElement>('[data-panel]', select.closest('figure')!))
    panel.hidden = panel.dataset['panel'] !== select.value;
}

const choices = all<HTMLSelectElement>('select.shows');
const languages = choices.filter(({ name }) => name === 'Sample');
for (const select of choices) {
  // A reload keeps the choice.
  show(select);
  select.addEventListener('change', () => {
    if (languages.includes(select)) choose(select.value);
    else show(select);
  });
}

/** A language is chosen for all samples, and for the next visit. */
function choose(language: string): void {
  for (const select of languages) {
    select.value = language;
    show(select);
  }
  localStorage.setItem('language', language);
}

for (const button of all<HTMLButtonElement>('button.copy')) {
  const say = (text: string) => (button.textContent = text);
  button.addEventListener('click', () => {
    const shown = button.closest('figure')?.querySelector(':not([hidden]) > pre');
    void navigator.clipboard.writeText(shown?.textContent ?? '').then(
      () => say('Copied'),
      () => say('Not allowed'),
    );
    setTimeout(() => say('Copy'), 2000);
  });
}

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;
const key = document.querySelector<HTMLInputElement>('#key');

for (const form of all<HTMLFormElement>('form.try')) {
  const answer = form.querySelector('.answer')!;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    answer.textContent = 'Sending…';
    void send(form).then(
      (received) => (answer.innerHTML = received),
      (error: Error) => (answer.textContent = `No response: ${error.message}`),
    );
  });
  // The link to the next page has the query of this one.
  answer.addEventListener('click', ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return;
    const query = new URL(target.value, location.href).searchParams;
    for (const field of all<Field>('[data-in="query"]', form)) field.value = query.get(field.name) ?? '';
    form.dispatchEvent(new Event('input'));
    form.requestSubmit();
  });

  const sample = languages.find((select) => form.parentElement!.contains(select))?.closest('figure');
  const panels = sample ? all<HTMLElement>('[data-panel]', sample) : [];
  const samples = panels.map((panel) => [panel, panel.textContent.trim()] as const);
  form.addEventListener('input', () => {
    for (const [panel, source] of samples) {
      const label = panel.dataset['panel']!;
      panel.innerHTML = codeLines(sampleWith(source, label, valuesOf(form)), `Sample ${label}`).markup;
    }
  });
}

function valuesOf(form: HTMLFormElement): Value[] {
  return all<Field>('[name]', form).map((field) => {
    const { name, value, dataset } = field;
    const example = field instanceof HTMLSelectElement ? '' : field.placeholder || field.defaultValue;
    return { name, place: dataset['in'] ?? 'body', value, example };
  });
}

/** Sends the request of a form. The body is sent as it was typed, so numbers keep their digits. */
async function send(form: HTMLFormElement): Promise<string> {
  const { method = 'GET', path = '' } = form.dataset;
  const given = valuesOf(form).filter(({ value }) => value !== '');
  const pairs = (wanted: string) =>
    given.flatMap(({ place, name, value }): [string, string][] => (place === wanted ? [[name, value]] : []));
  const filled = pairs('path').reduce(
    (target, [name, value]) => target.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const query = new URLSearchParams(pairs('query'));
  const headers = new Headers(pairs('header'));
  const secret = key?.value.trim() ?? '';
  if (/[^!-~]/.test(secret)) throw new Error('the API key has characters that no key has.');
  if (secret !== '') headers.set('Authorization', `Bearer ${secret}`);
  const body = pairs('body')[0]?.[1] ?? null;
  if (body !== null) headers.set('Content-Type', 'application/json');

  const startedAt = performance.now();
  const target = (key?.dataset['base'] ?? '') + filled + (query.size > 0 ? `?${query.toString()}` : '');
  const response = await fetch(target, { method, headers, body, cache: 'no-store' });
  const text = await response.text();
  const milliseconds = Math.round(performance.now() - startedAt);
  if (response.ok && text !== '') fillIn(form, text);
  const lines = Array.from(response.headers, ([name, value]) => `${name}: ${value}`);
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
  return html`<figure class="code">
    <figcaption>
      <span>${method} ${target}: ${response.status} in ${milliseconds} ms</span>
      ${next === undefined ? next : html`<button type="button" value="${next}">Next page</button>`}
    </figcaption>
    ${codeLines(indentJson(text) || 'No body.', 'Response body')}
    <details>
      <summary>${lines.length} response headers</summary>
      ${codeLines(lines.join('\n'), 'Response headers')}
    </details>
  </figure>`.markup;
}

interface Link {
  readonly operationId: string;
  /** By name, such as `$response.body#/0/id`. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Fills the required fields of other forms from a response, by the links of the OpenAPI document. */
function fillIn(form: HTMLFormElement, text: string): void {
  const followed = JSON.parse(form.dataset['links'] ?? '[]') as Link[];
  for (const { operationId, parameters } of followed) {
    for (const [name, expression] of Object.entries(parameters)) {
      const field = document.querySelector<HTMLInputElement>(`[id="${operationId}-${name}"][required]`);
      const value = expression
        .split('/')
        .slice(1)
        .reduce(
          (found: unknown, part) => (found as Record<string, unknown> | undefined)?.[part],
          JSON.parse(text),
        );
      if (field !== null && (typeof value === 'string' || typeof value === 'number')) {
        field.value = `${value}`;
        field.form?.dispatchEvent(new Event('input'));
      }
    }
  }
}

/** Takes the key out of the address. A reload keeps it. */
function takeKey(field: HTMLInputElement): void {
  const [, given] = /^#key=(\w+)$/.exec(location.hash) ?? [];
  if (given !== undefined) {
    sessionStorage.setItem('key', given);
    history.replaceState(undefined, '', '.');
  }
  const known = given ?? sessionStorage.getItem('key');
  if (known === null) return;
  field.value = known;
  for (const part of all('[aria-label="In a terminal"] code')[0]!.childNodes)
    part.textContent = (part.textContent ?? '').replace(/(?<=\bKEY=)\w+/, known);
}

if (key !== null) {
  takeKey(key);
  addEventListener('hashchange', () => takeKey(key));
  key.addEventListener('input', () => {
    key.nextElementSibling!.textContent = key.validity.valid ? '' : 'This is not an API key.';
  });
}

const remembered = localStorage.getItem('language');
if (languages.some(({ options }) => [...options].some(({ value }) => value === remembered)))
  choose(remembered!);
