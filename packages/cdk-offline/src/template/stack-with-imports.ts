import type { AssembledStack } from './assembly.ts';
import { type Json, TemplateError } from './intrinsics.ts';
import { type Imports, Stack } from './stack.ts';

/** A stack and those of the same assembly that it imports from. */
export class StackWithImports {
  readonly main: Stack;
  readonly #siblings: readonly Stack[];
  readonly #used = new Set<Stack>();

  /** @param parameters replace the defaults of the main stack's parameters */
  constructor(
    main: AssembledStack,
    siblings: readonly AssembledStack[],
    parameters: Readonly<Record<string, string>>,
  ) {
    const imports: Imports = {
      exported: (name) =>
        this.#import((stack) => stack.exported(name), `No stack of the assembly exports ${name}`),
      output: (stackName, name) =>
        this.#import(
          (stack) => (stack.name === stackName ? stack.output(name) : undefined),
          `The assembly has no stack ${stackName} with an output ${name}`,
        ),
    };
    const unknown = Object.keys(parameters).find((name) => !Object.hasOwn(main.template.Parameters, name));
    if (unknown !== undefined) throw new TemplateError(`${main.name} has no parameter ${unknown}`);
    this.main = new Stack(main.name, main.template, imports, { ...main.assetParameters, ...parameters });
    this.#siblings = siblings.map(
      ({ name, template, assetParameters }) => new Stack(name, template, imports, assetParameters),
    );
  }

  /** The main stack, and those from which a value was imported so far. */
  get involved(): readonly Stack[] {
    return [this.main, ...this.#used];
  }

  /** Identifies a resource of any of the stacks. For the main one it is the logical ID. */
  idOf(stack: Stack, logicalId: string): string {
    return stack === this.main ? logicalId : `${stack.name}.${logicalId}`;
  }

  #import(valueIn: (stack: Stack) => Json | undefined, problem: string): Json {
    for (const stack of this.#siblings) {
      const value = valueIn(stack);
      if (value === undefined) continue;
      this.#used.add(stack);
      return value;
    }
    throw new TemplateError(problem);
  }
}
