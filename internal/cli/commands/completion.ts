import { type Command, OUTPUT_OPTION } from '../command.ts';

/** `ichor completion` */
export const completion: Command = {
  path: ['completion'],
  summary: 'print a completion script for a shell',
  details: `bash: source <(ichor completion bash)
zsh:  source <(ichor completion zsh)
fish: ichor completion fish | source`,
  argument: { name: '<shell>', summary: 'the shell', choices: ['bash', 'zsh', 'fish'] },
  options: [OUTPUT_OPTION],
  async run({ argument, output }) {
    const [{ completionScript }, { COMMANDS }] = await Promise.all([
      import('../completion-script.ts'),
      import('./index.ts'),
    ]);
    const script = completionScript(argument as 'bash' | 'zsh' | 'fish', COMMANDS);
    await output.result({ shell: argument, script }, script);
    return 'ok';
  },
};
