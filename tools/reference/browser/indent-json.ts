const token = /"(?:[^"\\]|\\.)*"|\[\s*\]|\{\s*\}|[[\]{},:]|\s+/g;

/** JSON on indented lines. Numbers keep their digits: `JSON.parse` would round int64. Other text is returned as it is. */
export function indentJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  return text.replaceAll(token, (part) => {
    if (part === '[' || part === '{') {
      depth += 1;
      return part + line();
    }
    if (part === ']' || part === '}') {
      depth -= 1;
      return line() + part;
    }
    if (part === ',') return part + line();
    if (part === ':') return ': ';
    if (part.startsWith('"')) return part;
    return part.trim() === '' ? '' : part.replaceAll(/\s/g, '');
  });
}
