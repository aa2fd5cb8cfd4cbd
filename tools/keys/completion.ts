import { Argument, Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Io } from '../command-line/output.ts';

const shells = ['bash', 'zsh'] as const;

/** The command that prints a completion script. */
export const completion = (root: CommandUnknownOpts, io: Io) =>
  new Command('completion')
    .description('print a completion script: source <(animal-store-keys completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action((shell) => void io.stdout.write(`${completionScript(shell, root)}\n`));

/** A completion script for the commands, their options and the options' choices. zsh runs the one for bash. */
function completionScript(shell: (typeof shells)[number], root: CommandUnknownOpts): string {
  const names = root.commands.map((command) => command.name()).join(' ');
  const branch = (pattern: string, words: readonly string[]) =>
    `    ${pattern}) words='${words.join(' ')}' ;;`;
  const choices = root.commands
    .flatMap(({ options }) => options)
    .flatMap(({ long, argChoices }) => (long && argChoices ? [branch(long, argChoices)] : []));
  const options = root.commands.map((command) => {
    const positional = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
    const flags = command.options.map(({ long }) => long ?? '');
    return branch(`*:${command.name()}`, [...positional, ...flags, '--help']);
  });
  const script = `_animal_store_keys() {
  local words='${names} help'
  case "\${COMP_WORDS[COMP_CWORD-1]}:$([ "$COMP_CWORD" -gt 1 ] && echo "\${COMP_WORDS[1]}")" in
    help:*) words='${names}' ;;
${[...new Set(choices)].join('\n').replaceAll(')', ':*)')}
${options.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _animal_store_keys animal-store-keys`;
  return shell === 'bash'
    ? script
    : `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${script}`;
}
