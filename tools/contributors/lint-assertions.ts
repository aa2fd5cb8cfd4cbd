/** A plug-in of oxlint, whose own rules accept an assertion that cannot fail. */

interface Node {
  readonly type: string;
  readonly parent: Node;
  readonly properties: readonly unknown[];
  readonly callee: { readonly property?: { readonly name?: string } };
}

const partialMatchers = new Set<unknown>(['toMatchObject', 'objectContaining']);
const nested = new Set(['Property', 'ObjectExpression', 'ArrayExpression']);

export default {
  meta: { name: 'assertions' },
  rules: {
    'no-empty-match': {
      create: (context: { report(found: { readonly node: Node; readonly message: string }): void }) => ({
        ObjectExpression(node: Node): void {
          if (node.properties.length > 0) return;
          let { parent } = node;
          while (nested.has(parent.type)) ({ parent } = parent);
          if (parent.type !== 'CallExpression' || !partialMatchers.has(parent.callee.property?.name)) return;
          context.report({
            node,
            message: 'Here, {} matches every object. Say what the object has to contain.',
          });
        },
      }),
    },
  },
};
