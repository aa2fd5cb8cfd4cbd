/** What docs/openapi.yaml and docs/interface.md say of something. */
export interface Words {
  readonly text?: string;
  /** What this project has chosen where the interface is silent. The page marks it. */
  readonly decided?: string;
  /** Where the page says more, as a link in Markdown. */
  readonly see?: string;
}

/** In the document, which has no marks and no links. */
export function inDocument({ text = '', decided = '' }: Words): string {
  return `${text} ${decided}`.trim();
}

/** On the page, in Markdown. */
export function onPage({ text = '', decided, see }: Words): string {
  const all = decided === undefined ? text : `${text} **Decided:** ${decided}`.trim();
  return see === undefined ? all : `${all.replace(/\.$/, '')} (${see}).`;
}

export const reasons = (section: string): string => `[reasons](decisions.md#${section})`;
