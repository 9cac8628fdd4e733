import { CA_TARGETS, isCaTarget } from '../../api/v1alpha1/index.ts';
import { takingDown } from '../support/leaving.ts';
import { countOption, readOptions } from '../support/options.ts';
import { unmetNeeds } from '../support/real.ts';
import { type TalosCluster, talosCluster } from '../talos/cluster.ts';
import { ensureTools } from '../tools/tools.ts';
import { operatorDirectory } from './cluster-directory.ts';
import { observeRotation } from './observed-rotation.ts';
import { summaryOf } from './summary.ts';

const USAGE = `usage: npm run rotate:real -- [--control-planes 3] [--workers 1] [--ca all|talos,kubernetes,...] [--contract v1.14]

Brings up a cluster of real Talos machines on this host, rotates its certificate
authorities with traffic running, proves the end and prints what happened.
Needs Linux, root and Go.
`;

const { values } = readOptions(USAGE, {
  options: {
    'control-planes': { type: 'string', default: '3' },
    workers: { type: 'string', default: '1' },
    ca: { type: 'string', default: 'all' },
    contract: { type: 'string', default: 'v1.14' },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const size = readSize();
  if (typeof size === 'string') return refuse(size);
  await ensureTools({ required: true });
  const unmet = unmetNeeds({ linux: true, root: true });
  if (unmet.length > 0) {
    process.stderr.write(`${unmet.join('\n')}\n`);
    return 1;
  }
  return await takingDown(async ({ keep, signal }) => {
    const contract = values.contract as `v1.${number}`;
    return await rotate(await keep(talosCluster({ ...size, contract, signal })));
  });
}

async function rotate(cluster: TalosCluster): Promise<number> {
  await using directory = await operatorDirectory(cluster);
  const boots = cluster.machines.map((machine) => machine.boots());
  let printed = 0;
  const rotation = await observeRotation({
    cluster,
    directory: directory.path,
    args: values.ca === 'all' ? ['--all'] : ['--ca', values.ca],
    onOutput(text) {
      process.stdout.write(text.slice(printed));
      printed = text.length;
    },
  });
  process.stdout.write(rotation.output.slice(printed));
  await directory.handBack();
  if (rotation.exitCode === 0) await cluster.healthy();
  const reboots = cluster.machines.map(
    (machine, index) => [machine.name, machine.boots() - (boots[index] ?? 0)] as const,
  );
  process.stdout.write(summaryOf(rotation, reboots));
  return rotation.exitCode;
}

/** How many machines; a sentence where an option is not what it should be. */
function readSize() {
  if (values.ca !== 'all' && !values.ca.split(',').every(isCaTarget)) {
    return `--ca is ${JSON.stringify(values.ca)}; expected all, or names out of ${CA_TARGETS.join(', ')}`;
  }
  if (!/^v1\.\d+$/.test(values.contract)) return `--contract is ${JSON.stringify(values.contract)}; expected v1.14`;
  try {
    return {
      controlPlanes: countOption('control-planes', values['control-planes'], [1, 5]),
      workers: countOption('workers', values.workers, [0, 3]),
    };
  } catch (error) {
    return (error as Error).message;
  }
}

function refuse(message: string): number {
  process.stderr.write(`${message}\n\n${USAGE}`);
  return 2;
}
