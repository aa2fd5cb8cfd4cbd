import { invalid } from './errors.ts';
import type { Input } from './input.ts';
import type { Condition, Path } from './operands.ts';
import type { Expressions } from './parser.ts';
import type { Table } from './table.ts';

/** The paths of a condition. */
export function pathsOf(each: Condition): Path[] {
  if (each.kind !== 'test') return each.parts.flatMap(pathsOf);
  return each.operands.flatMap((operand) => {
    const inner = operand.kind === 'size' ? operand.of : operand;
    return inner.kind === 'path' ? [inner.path] : [];
  });
}

/** What a read returns of an item. Undefined: all. */
export function projectionOf(
  { ProjectionExpression: text, AttributesToGet: names, ...input }: Input,
  expressions: Expressions,
  table: Table,
): readonly Path[] | undefined {
  if (names && (text !== undefined || Object.keys(input).some((each) => each.includes('Expression'))))
    invalid('Can not use both expression and non-expression parameters in the same request');
  const paths =
    text === undefined
      ? names?.map((name) => [name])
      : expressions.parse(text, (parser) => parser.projection());
  if (paths) table.checkPaths(paths);
  return paths;
}
