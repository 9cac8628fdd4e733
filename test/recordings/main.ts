import { readOptions } from '../support/options.ts';
import { recordingFromTrail } from './from-trail.ts';
import { writeRecording } from './recording.ts';

const USAGE = `usage: npm run recording -- DIRECTORY [--talos 1.14.1] [--shape typed|legacy]

Prints what is known of the last rotation beside a cluster directory: the order
of its effects, by names and roles. It holds no certificate, no fingerprint and
no key. Put into test/simulation/recordings, it is replayed in the simulated
world with every test.
`;

const { values, positionals } = readOptions(USAGE, {
  allowPositionals: true,
  options: { talos: { type: 'string', default: '1.14.1' }, shape: { type: 'string', default: 'typed' } },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const [directory] = positionals;
  const { shape } = values;
  if (directory === undefined || positionals.length > 1) return refuse('one directory is expected');
  if (shape !== 'typed' && shape !== 'legacy')
    return refuse(`--shape is ${JSON.stringify(shape)}; expected typed or legacy`);
  const recording = await recordingFromTrail(directory, { cluster: 'real', talosVersion: values.talos, shape });
  process.stdout.write(writeRecording(recording));
  return 0;
}

function refuse(message: string): number {
  process.stderr.write(`${message}\n\n${USAGE}`);
  return 2;
}
