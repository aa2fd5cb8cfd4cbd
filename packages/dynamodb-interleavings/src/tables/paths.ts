import { invalid } from './errors.ts';
import type { Input } from './input.ts';
import type { Condition, Path } from './operands.ts';
import type { Expressions } from './parser.ts';

/** The paths of a condition. */
export function pathsOf(each: Condition): Path[] {
  if (each.kind !== 'test') return each.parts.flatMap(pathsOf);
  return each.operands.flatMap((operand) => {
    const inner = operand.kind === 'size' ? operand.of : operand;
    return inner.kind === 'path' ? [inner.path] : [];
  });
}

/** @throws Refusal of a call that has both expressions and `AttributesToGet`, even of other tables */
export function refuseMixed(inputs: readonly Input[]): void {
  const hasExpression = inputs.some((input) =>
    Object.keys(input).some((each) => each.includes('Expression')),
  );
  if (hasExpression && inputs.some(({ AttributesToGet: names }) => names))
    invalid('Can not use both expression and non-expression parameters in the same request');
}

/** What a read returns of an item. Undefined: all. */
export function projectionOf(
  { ProjectionExpression: text, AttributesToGet: names }: Input,
  expressions: Expressions,
): readonly Path[] | undefined {
  return text === undefined
    ? names?.map((name) => [name])
    : expressions.parse(text, (parser) => parser.projection());
}
