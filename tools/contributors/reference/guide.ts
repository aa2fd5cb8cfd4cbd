import MarkdownIt from 'markdown-it';

/** The anchor that GitHub makes of a heading, in Markdown. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}

/**
 * A page of docs/ as HTML. Its headings have the anchors that they have on GitHub.
 *
 * @param pages names of the pages that links can lead to. Other files of the repository are named only
 */
export function guidePage(markdown: string, pages: readonly string[]): string {
  const parser = new MarkdownIt();
  parser.renderer.rules['heading_open'] = (tokens, index, options, _environment, self) => {
    tokens[index]!.attrSet('id', anchorOf(tokens[index + 1]!.content));
    return self.renderToken(tokens, index, options);
  };
  parser.renderer.rules['link_open'] = (tokens, index, options, _environment, self) => {
    const link = tokens[index]!;
    const [, path = '', anchor = ''] = /^([^#]*)(.*)$/.exec(String(link.attrGet('href'))) ?? [];
    if (pages.includes(path.replace(/\.md$/, ''))) link.attrSet('href', htmlOf(path) + anchor);
    else if (path !== '' && !URL.canParse(path)) link.attrs = [];
    return self.renderToken(tokens, index, options);
  };
  return `<main class="guide"><p><a href=".">API reference</a></p>\n${parser.render(markdown)}</main>`;
}

/** A part of a page, as HTML that looks like the guide. */
export function guideSection(markdown: string): string {
  return `<section class="guide">${new MarkdownIt().render(markdown)}</section>`;
}

/** The name of the served page: a web server sends `.md` as a file to save. */
export function htmlOf(markdownFile: string): string {
  return markdownFile.replace(/\.md$/, '.html');
}
