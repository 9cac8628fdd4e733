import type { ArgumentSpec, Command, OptionSpec } from './command.ts';

/** A shell that completions are made for. */
export type Shell = 'bash' | 'zsh' | 'fish';

/** A script that completes commands, options and their values; made from the commands themselves. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  switch (shell) {
    case 'bash':
      return bashScript(commands);
    case 'zsh':
      // zsh runs bash completions; one script to keep right is better than two.
      return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`;
    case 'fish':
      return fishScript(commands);
  }
}

/** `--output` and `-o` of `-o, --output <format>`. */
function namesOf({ flags }: OptionSpec): string[] {
  return flags.split(/[ ,]+/).filter((part) => part.startsWith('-'));
}

/** What an argument may be, as far as it is known beforehand. */
function wordsOf(argument: ArgumentSpec | undefined): readonly string[] {
  return argument?.choices ?? argument?.words ?? [];
}

function takesValue({ flags }: OptionSpec): boolean {
  return flags.includes('<');
}

function bashScript(commands: readonly Command[]): string {
  const first = [...new Set(commands.map(({ path }) => path[0])), 'help'].join(' ');
  const nouns = [...new Set(commands.filter(({ path }) => path.length > 1).map(({ path }) => path[0]))];
  const verbs = nouns.map((noun) => {
    const names = commands.filter(({ path }) => path[0] === noun).map(({ path }) => path[1]);
    return `    ${noun}) words="${names.join(' ')}" ;;`;
  });
  const options = commands.map(({ path, options: specs, argument }) => {
    const words = [...specs.flatMap(namesOf), '--help', ...wordsOf(argument)].join(' ');
    const folders = argument?.completes === undefined ? '' : ' _ichor_files -d;';
    return `    "${path.join(' ')}"*) words="${words}";${folders} ;;`;
  });
  return `_ichor_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen "$1" -- "$current"))
}
_ichor_list() {
  local before=""
  case "$current" in *,*) before="\${current%,*}," ;; esac
  compopt -o nospace 2>/dev/null
  COMPREPLY=($(compgen -P "$before" -W "$1" -- "\${current##*,}"))
}
_ichor() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  COMPREPLY=()
  case "$previous" in
${valueCases(commands).join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${first}"
  else
    case "\${COMP_WORDS[*]:1}" in
${options.join('\n')}
    *) case "\${COMP_WORDS[1]}" in
${verbs.join('\n')}
    esac ;;
    esac
  fi
  COMPREPLY+=($(compgen -W "$words" -- "$current"))
}
complete -F _ichor ichor
`;
}

function valueCases(commands: readonly Command[]): string[] {
  const cases = new Map<string, string>();
  for (const spec of commands.flatMap(({ options }) => options).filter(takesValue)) {
    const names = namesOf(spec).join('|');
    if (spec.choices !== undefined)
      cases.set(names, `COMPREPLY=($(compgen -W "${spec.choices.join(' ')}" -- "$current")); return`);
    else if (spec.listOf !== undefined) cases.set(names, `_ichor_list "${spec.listOf.join(' ')}"; return`);
    else if (spec.completes === 'directory') cases.set(names, '_ichor_files -d; return');
    else if (spec.completes === 'file') cases.set(names, '_ichor_files -f; return');
    else cases.set(names, 'return');
  }
  return [...cases].map(([names, action]) => `    ${names}) ${action} ;;`);
}

function fishScript(commands: readonly Command[]): string {
  const lines = ['complete -c ichor -f'];
  const nouns = new Set<string>();
  for (const { path, summary, options, argument } of commands) {
    const [first = '', second] = path;
    if (second === undefined) {
      lines.push(`complete -c ichor -n __fish_use_subcommand -a ${first} -d ${quote(summary)}`);
    } else {
      if (!nouns.has(first)) lines.push(`complete -c ichor -n __fish_use_subcommand -a ${first}`);
      nouns.add(first);
      const isOpen = `__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${verbsOf(commands, first).join(' ')}`;
      lines.push(`complete -c ichor -n ${quote(isOpen)} -a ${second} -d ${quote(summary)}`);
    }
    const isHere = path.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
    const words = wordsOf(argument);
    if (words.length > 0) lines.push(`complete -c ichor -n ${quote(isHere)} -a ${quote(words.join(' '))}`);
    if (argument?.completes !== undefined)
      lines.push(`complete -c ichor -n ${quote(isHere)} -a '(__fish_complete_directories)'`);
    lines.push(...options.map((spec) => `complete -c ichor -n ${quote(isHere)} ${fishOption(spec)}`));
  }
  return `${lines.join('\n')}\n`;
}

function verbsOf(commands: readonly Command[], noun: string): string[] {
  return commands.filter(({ path }) => path[0] === noun).map(({ path }) => path[1] ?? '');
}

function fishOption(spec: OptionSpec): string {
  const names = namesOf(spec).map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  return [...names, ...(takesValue(spec) ? [fishValue(spec)] : []), '-d', quote(spec.summary)].join(' ');
}

function fishValue({ choices, listOf, completes }: OptionSpec): string {
  if (choices !== undefined) return `-x -a ${quote(choices.join(' '))}`;
  if (listOf !== undefined) return `-x -a ${quote(`(__fish_append , ${listOf.join(' ')})`)}`;
  return completes === undefined ? '-x' : '-r -F';
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
