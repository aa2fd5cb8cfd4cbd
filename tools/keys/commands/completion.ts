import type { Command as CommanderCommand } from 'commander';

/** The shells that `completion` prints a script for. */
export const shells = ['bash', 'zsh'] as const;

/** A completion script for the tool's commands, options and the options' choices. zsh runs the one for bash. */
export function completionScript(
  shell: (typeof shells)[number],
  root: CommanderCommand,
  program: string,
): string {
  const commands = root.commands.filter((command) => command.name() !== 'help');
  const names = commands.map((command) => command.name());
  const choices = new Map(
    commands.flatMap(({ options }) =>
      options.flatMap(({ long, argChoices }) => (long && argChoices ? [[long, argChoices] as const] : [])),
    ),
  );
  const branch = (pattern: string, words: readonly string[]) =>
    `    ${pattern}) words='${words.join(' ')}' ;;`;
  const script = `_animal_store_keys() {
  local words
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
${[...choices].map(([flag, words]) => branch(flag, words)).join('\n')}
    *) case "\${COMP_WORDS[1]}" in
${commands.map((command) => `  ${branch(command.name(), optionsOf(command))}`).join('\n')}
      *) words='${[...names, 'help'].join(' ')}' ;;
    esac ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words='${[...names, 'help'].join(' ')}'; fi
  if [ "\${COMP_WORDS[1]}" = help ]; then words='${names.join(' ')}'; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _animal_store_keys ${program}`;
  return shell === 'bash'
    ? script
    : `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${script}`;
}

function optionsOf(command: CommanderCommand): string[] {
  const positional = command.name() === 'completion' ? shells : [];
  return [...positional, ...command.options.map(({ long }) => long ?? ''), '--help'];
}
