const token = /"(?:[^"\\]|\\.)*"|\[\s*\]|\{\s*\}|[[\]{},:]|\s+/g;

/** JSON on indented lines. Numbers keep their digits: `JSON.parse` would round int64. Other text is returned as it is. */
export function indentJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  const line = (change: number) => `\n${'  '.repeat((depth += change))}`;
  return text.replaceAll(token, (part) => {
    if (part === '[' || part === '{') return part + line(1);
    if (part === ']' || part === '}') return line(-1) + part;
    if (part === ',') return part + line(0);
    if (part === ':') return ': ';
    return part.startsWith('"') ? part : part.replaceAll(/\s/g, '');
  });
}
