/** Markup. Only this module makes it from text, so what was not escaped is a type error. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Content = Html | string | number | undefined | readonly Content[];

/** Markup from a template. Values are escaped, lists are joined, and `undefined` is nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Html(String.raw({ raw: parts }, ...values.map(toMarkup)));
}

function toMarkup(content: Content): string {
  if (content === undefined) return '';
  if (content instanceof Html) return content.markup;
  if (typeof content === 'object') return content.map(toMarkup).join('');
  return String(content).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
