/** What docs/openapi.yaml and docs/interface.md say of something. */
export interface Words {
  readonly text: string;
  /** Where the page says more, as a link in Markdown. The document has no links. */
  readonly see?: string;
}

/** On the page, in Markdown. */
export function onPage({ text, see }: Words): string {
  return see === undefined ? text : `${text.replace(/\.$/, '')} (${see}).`;
}
