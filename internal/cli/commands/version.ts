import { type Command, OUTPUT_OPTION } from '../command.ts';

/** `ichor version` */
export const version: Command = {
  path: ['version'],
  summary: 'show the version of ichor',
  options: [OUTPUT_OPTION],
  async run({ environment, output }) {
    const value = {
      version: environment.version,
      node: process.version,
      platform: `${process.platform}-${process.arch}`,
    };
    await output.result(value, `ichor ${value.version} (node ${value.node}, ${value.platform})`);
    return 'ok';
  },
};
