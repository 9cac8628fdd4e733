import { styleText } from 'node:util';
import { Argument, Command as CommanderCommand, CommanderError, Option } from 'commander';
import { CliError, explain } from './cli-error.ts';
import { type Command, text } from './command.ts';
import { COMMANDS, NOUNS } from './commands/index.ts';
import type { CliEnvironment } from './environment.ts';
import { type ExitName, exitCode } from './exit-codes.ts';
import { createOutput, mayColor, type OutputFormat } from './output.ts';

/**
 * Runs one command line.
 *
 * @param argv what follows the program's name
 * @returns the exit code; see `EXIT_CODES`
 */
export async function runCli(argv: readonly string[], environment: CliEnvironment): Promise<number> {
  let exit: ExitName = 'ok';
  const program = createProgram(environment, (ended) => {
    exit = ended;
  });
  try {
    await program.parseAsync(helpAsOption(program, argv), { from: 'user' });
    return exitCode(exit);
  } catch (error) {
    if (error instanceof CommanderError) return exitCode(error.exitCode === 0 ? 'ok' : 'usage');
    return exitCode(reportError(error, environment));
  }
}

/** Says what went wrong and what to do next. */
function reportError(error: unknown, { stderr, env }: CliEnvironment): ExitName {
  const { exit, message, advice } = explain(error);
  const label = mayColor(stderr, env) ? styleText('red', 'error:', { validateStream: false }) : 'error:';
  stderr.write(`${label} ${message}\n`);
  if (advice !== undefined) stderr.write(`${advice}\n`);
  return exit;
}

/** What somebody who has never seen the program runs, in this order. */
const FIRST_STEPS = `First steps:
  ichor lab up DIR                             a cluster on this computer to rehearse on
  ichor cluster import --dir DIR               a cluster directory, from your talosconfig
  ichor cluster status --dir DIR               what the cluster runs with
  ichor cluster rotate-ca --dir DIR --dry-run  the plan; nothing is changed

Run ichor COMMAND --help for more. ichor exit-codes lists the exit codes.`;

const WHERE_HELP_IS = 'ichor --help lists the commands, ichor COMMAND --help the options of one.';

/**
 * `help COMMAND` as `COMMAND --help`: of several words Commander looks at the first
 * alone, and for one that it does not know it shows all commands and no error.
 */
function helpAsOption(program: CommanderCommand, argv: readonly string[]): string[] {
  const [first, ...words] = argv;
  if (first !== 'help' || words.length === 0) return [...argv];
  // Its output is all the help that there is to it.
  if (words[0] === 'exit-codes') return words;
  let command: CommanderCommand | undefined = program;
  for (const word of words) command = command?.commands.find((each) => each.name() === word);
  if (command === undefined) throw new CliError('usage', `unknown command '${words.join(' ')}'`, WHERE_HELP_IS);
  return [...words, '--help'];
}

function createProgram(environment: CliEnvironment, ended: (exit: ExitName) => void): CommanderCommand {
  const program = new CommanderCommand('ichor')
    .description('Replaces every certificate authority of a Talos Linux cluster while it serves.')
    .version(`ichor ${environment.version}`, '--version', 'show the version of ichor')
    .exitOverride()
    .enablePositionalOptions()
    .helpCommand('help [command]', 'show the help of a command, or exit-codes')
    .addHelpText('after', `\n${FIRST_STEPS}`)
    .showHelpAfterError(WHERE_HELP_IS)
    .configureOutput({
      writeOut: (line) => environment.stdout.write(line),
      writeErr: (line) => environment.stderr.write(line),
      getOutHelpWidth: () => environment.stdout.columns,
      getErrHelpWidth: () => environment.stderr.columns,
    });
  const groups = new Map(
    NOUNS.map(({ noun, summary }) => [noun, inherit(program, program.command(noun)).description(summary)]),
  );
  for (const command of COMMANDS) {
    const [first = '', second] = command.path;
    const parent = second === undefined ? program : groups.get(first);
    if (parent === undefined)
      throw new Error(`the command ${command.path.join(' ')} has a noun that NOUNS does not list`);
    addCommand(parent, command, { environment, ended });
  }
  return program;
}

/**
 * An empty word is a variable of a script that was not set. It is never the same
 * as a word that is not there: `--ca "$TARGETS"` would replace the default CAs,
 * and `--dir "$DIR"` would work on the directory that somebody stands in.
 */
function refuseEmpty(command: CommanderCommand): void {
  const option = command.options.find((each) => command.getOptionValue(each.attributeName()) === '');
  const argument = command.registeredArguments[command.args.indexOf('')];
  const what = option?.long ?? argument?.name();
  if (what === undefined) return;
  throw new CliError('usage', `${what} is empty`, 'Give it a value, or leave it out. Nothing was done.');
}

/** A list whose option is given again goes on. An empty word stays one, for `refuseEmpty` to find. */
function joined(value: string, before: string | undefined): string {
  if (before === undefined) return value;
  return value === '' || before === '' ? '' : `${before},${value}`;
}

/** Of two values one would be dropped without a word: of two directories, the cluster that somebody meant. */
function refuseRepeated(command: CommanderCommand, option: Option): void {
  let given = 0;
  command.on(`option:${option.name()}`, () => {
    given += 1;
    if (given < 2) return;
    throw new CliError('usage', `${option.long} is given twice`, 'Give it once. Nothing was done.');
  });
}

function inherit(parent: CommanderCommand, child: CommanderCommand): CommanderCommand {
  return child.copyInheritedSettings(parent);
}

interface Running {
  readonly environment: CliEnvironment;
  readonly ended: (exit: ExitName) => void;
}

function addCommand(parent: CommanderCommand, command: Command, { environment, ended }: Running): void {
  const added = inherit(parent, parent.command(command.path.at(-1) ?? ''))
    .summary(command.summary)
    .description(command.summary);
  if (command.details !== undefined) added.addHelpText('after', `\n${command.details}`);
  for (const spec of [command.argument, command.secondArgument]) {
    if (spec === undefined) continue;
    const argument = new Argument(spec.name, spec.summary);
    added.addArgument(spec.choices === undefined ? argument : argument.choices(spec.choices));
  }
  for (const spec of command.options) {
    const option = new Option(spec.flags, spec.summary);
    if (spec.choices !== undefined) option.choices(spec.choices);
    if (spec.default !== undefined) option.default(spec.default);
    if (spec.isList) option.argParser(joined);
    else if (option.required) refuseRepeated(added, option);
    added.addOption(option);
  }
  added.action(async () => {
    refuseEmpty(added);
    const options = added.opts();
    const format = (text(options, 'output') ?? 'text') as OutputFormat;
    const output = createOutput(environment, format);
    const [argument, secondArgument] = added.args;
    ended(await command.run({ argument, secondArgument, options, environment, output }));
  });
}
