import type { AssembledStack, Template } from './assembly.ts';
import { type Json, TemplateError } from './intrinsics.ts';
import { Stack, type StackResource, type Surroundings } from './stack.ts';

export const tableTypes = ['AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable'] as const;

/** A stack with its nested stacks, and the stacks of the same assembly that have a part in what it serves. */
export class StackWithImports {
  readonly main: Stack;
  readonly #siblings: readonly Stack[];
  /** Of `#siblings`. */
  #used = new Set<Stack>();
  readonly #ofApi: Set<Stack>;

  /**
   * @param parameters replace the defaults of the main stack's parameters
   * @param nested templates of nested stacks, by the object key in the URL
   */
  constructor(
    main: AssembledStack,
    siblings: readonly AssembledStack[],
    parameters: Readonly<Record<string, string>>,
    nested: ReadonlyMap<string, Template> = new Map(),
  ) {
    const surroundings: Surroundings = {
      exported: (name) =>
        this.#import((stack) => stack.exported(name), `No stack of the assembly exports ${name}`),
      output: (stackName, name) =>
        this.#import(
          (stack) => (stack.name === stackName ? stack.output(name) : undefined),
          `The assembly has no stack ${stackName} with an output ${name}`,
        ),
      nestedTemplate: (url) => [...nested].find(([key]) => url.endsWith(`/${key}`))?.[1],
    };
    const unknown = Object.keys(parameters).find((name) => !Object.hasOwn(main.template.Parameters, name));
    if (unknown !== undefined) throw new TemplateError(`${main.name} has no parameter ${unknown}`);
    this.main = new Stack(main.name, main.template, surroundings, { ...main.assetParameters, ...parameters });
    this.#siblings = siblings.map(
      ({ name, template, assetParameters }) => new Stack(name, template, surroundings, assetParameters),
    );
    this.#ofApi = new Set(this.main.tree);
  }

  /** The main stack, and those from which a value or a part of the API was used so far, each with its nested stacks. */
  get involved(): readonly Stack[] {
    return [this.main, ...this.#used].flatMap((stack) => stack.tree);
  }

  /** The main stack with its nested stacks, and those in which `resourcesOfApi` has found something. */
  get ofApi(): readonly Stack[] {
    return [...this.#ofApi];
  }

  /** Resources of a type in any stack: an API can have its stage or its methods in others. */
  resourcesOfApi(type: string, belongs: (resource: StackResource) => boolean): StackResource[] {
    return this.#find([type], belongs, (stack) => this.#ofApi.add(stack));
  }

  /** Involves the stacks that make a table of one of these names. */
  involveTables(names: ReadonlySet<string>): void {
    this.#find(tableTypes, ({ physicalId }) => names.has(physicalId));
  }

  /** The resources for which the test holds, which may throw TemplateError, in any stack. */
  #find(
    types: readonly string[],
    holds: (resource: StackResource) => boolean,
    onFound: (stack: Stack) => unknown = () => {},
  ): StackResource[] {
    const used = new Set(this.#used);
    const all = [this.main, ...this.#siblings].flatMap((root) =>
      root.tree.flatMap((stack) => {
        const found = stack.resources(...types).filter((resource) => isTrue(() => holds(resource)));
        if (found.length === 0) return [];
        onFound(stack);
        if (root !== this.main) used.add(root);
        return found;
      }),
    );
    // Without those from which other resources import.
    this.#used = used;
    return all;
  }

  /** Identifies a resource of any of the stacks. For the main one it is the logical ID. */
  idOf(stack: Stack, logicalId: string): string {
    return stack === this.main ? logicalId : `${stack.name}.${logicalId}`;
  }

  #import(valueIn: (stack: Stack) => Json | undefined, problem: string): Json {
    for (const root of [this.main, ...this.#siblings]) {
      for (const stack of root.tree) {
        const value = valueIn(stack);
        if (value === undefined) continue;
        if (root !== this.main) this.#used.add(root);
        return value;
      }
    }
    throw new TemplateError(problem);
  }
}

/** What needs a value that is not known is not. */
function isTrue(test: () => boolean): boolean {
  try {
    return test();
  } catch (error) {
    if (error instanceof TemplateError) return false;
    throw error;
  }
}
