export interface Labelled {
  readonly logicalId: string;
  /** The `aws:cdk:path` of the resource. */
  readonly constructPath: string | undefined;
  readonly handler: string;
}

/**
 * The names of functions in messages, as their app knows them, by logical ID: the file of the handler (`get-thing` for
 * `get-thing.handler`), where it has a name of its own, else the path in the construct tree (`Things/Get`), else the logical ID.
 */
export function labelsOf(functions: readonly Labelled[]): ReadonlyMap<string, string> {
  const unique = (labels: readonly string[]) => (label: string) =>
    label !== '' && labels.filter((other) => other === label).length === 1;
  const files = functions.map(({ handler }) => fileOf(handler));
  const paths = functions.map(({ constructPath }) => pathOf(constructPath));
  return new Map(
    functions.map(({ logicalId }, index) => {
      const [file = '', path = ''] = [files[index], paths[index]];
      return [logicalId, unique(files)(file) ? file : unique(paths)(path) ? path : logicalId];
    }),
  );
}

function fileOf(handler: string): string {
  const name = handler.replace(/\.handler$/, '');
  return /^(?:index|main|app|handler)(?:\.|$)/.test(name) ? '' : name;
}

/** Without the stack. */
function pathOf(constructPath = ''): string {
  return constructPath
    .split('/')
    .slice(1)
    .join('/')
    .replace(/\/Resource$/, '');
}
