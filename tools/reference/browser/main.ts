import { highlight } from '../highlight.ts';
import { indentJson } from './indent-json.ts';

/** What the API reference does in the browser: shows samples by language, copies, sends requests. */

const all = <E extends Element>(selector: string, inside: ParentNode = document): E[] => [
  ...inside.querySelectorAll<E>(selector),
];

// On a narrow screen the contents would push everything else down.
if (matchMedia('(max-width: 60rem)').matches) all<HTMLDetailsElement>('nav details')[0]!.open = false;

/** Shows the panel with this value, and hides the others. */
function show(figure: Element | null, value: string): void {
  if (figure === null) return;
  for (const panel of all<HTMLElement>('[data-panel]', figure))
    panel.hidden = panel.dataset['panel'] !== value;
}

for (const select of all<HTMLSelectElement>('select.shows')) {
  // A reload keeps the choice.
  show(select.closest('figure'), select.value);
  select.addEventListener('change', () => show(select.closest('figure'), select.value));
}

// A language is chosen for all samples.
for (const choice of all<HTMLInputElement>('.sample input')) {
  choice.addEventListener('change', () => {
    for (const same of all<HTMLInputElement>(`.sample input[value="${choice.value}"]`)) {
      same.checked = true;
      show(same.closest('figure'), same.value);
    }
  });
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

// The contents show which section is near the top.
const links = new Map(all<HTMLAnchorElement>('nav a[href^="#"]').map((link) => [link.hash.slice(1), link]));
const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute('aria-current');
      links.get(target.id)?.setAttribute('aria-current', 'true');
    }
  },
  { rootMargin: '-10% 0px -80% 0px' },
);
for (const section of all('main section[id], article h2[id]')) observer.observe(section);

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;
const key = document.querySelector<HTMLInputElement>('#key');

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
}

for (const form of all<HTMLFormElement>('form.try')) {
  const answer = form.querySelector('.answer')!;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    answer.replaceChildren('Sending…');
    void send(form).then(
      (received) => answer.replaceChildren(received),
      (error: unknown) => answer.replaceChildren(`No response: ${String(error)}`),
    );
  });
}

/** Sends the request of a form. The body is sent as it was typed, so numbers keep their digits. */
async function send(form: HTMLFormElement): Promise<Element> {
  const { method = 'GET', path = '' } = form.dataset;
  const fields = all<Field>('[name]', form).filter(({ value }) => value !== '');
  const inPlace = (place: string) => fields.filter(({ dataset }) => dataset['in'] === place);
  const filled = inPlace('path').reduce(
    (target, { name, value }) => target.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const query = new URLSearchParams(
    inPlace('query').map(({ name, value }): [string, string] => [name, value]),
  );
  const headers = new Headers(inPlace('header').map(({ name, value }): [string, string] => [name, value]));
  if (key !== null && key.value !== '') headers.set('Authorization', `Bearer ${key.value.trim()}`);
  const body = fields.find(({ name }) => name === 'body')?.value ?? null;
  if (body !== null) headers.set('Content-Type', 'application/json');

  const startedAt = performance.now();
  const base = key?.dataset['base'] ?? '';
  const target = base + filled + (query.size > 0 ? `?${query.toString()}` : '');
  const response = await fetch(target, { method, headers, body, cache: 'no-store' });
  const text = await response.text();
  const milliseconds = Math.round(performance.now() - startedAt);
  if (response.ok) fillIn(form, text);
  return exchange(`${method} ${target}`, `${response.status} in ${milliseconds} ms`, response.headers, text);
}

/** What was sent and what came back. */
function exchange(request: string, status: string, headers: Headers, text: string): Element {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  const caption = document.createElement('figcaption');
  caption.textContent = `${request}: ${status}`;
  const summary = document.createElement('summary');
  summary.textContent = `${lines.length} response headers`;
  const details = document.createElement('details');
  details.append(summary, codeLines(lines.join('\n'), 'Response headers'));
  const figure = document.createElement('figure');
  figure.className = 'code';
  figure.append(caption, codeLines(indentJson(text), 'Response body'), details);
  return figure;
}

function codeLines(text: string, label: string): Element {
  const pre = document.createElement('pre');
  // A reader with a keyboard can scroll it.
  pre.tabIndex = 0;
  pre.setAttribute('role', 'group');
  pre.setAttribute('aria-label', label);
  const code = document.createElement('code');
  for (const { kind, text: part } of highlight(text)) {
    const span = document.createElement('span');
    if (kind !== undefined) span.className = kind;
    span.textContent = part;
    code.append(span);
  }
  pre.append(code);
  return pre;
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
      if (field !== null && (typeof value === 'string' || typeof value === 'number'))
        field.value = `${value}`;
    }
  }
}
