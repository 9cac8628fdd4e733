import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ownerNow, tryLock } from '../support/lock.ts';
import { describeReal } from '../support/real.ts';
import { toolPath } from '../tools/tools.ts';
import { openCluster, talosCluster } from './cluster.ts';
import { cgroupVersion } from './host/cgroups.ts';
import { clustersOnNetwork } from './host/network.ts';
import { type HostFacts, lackOf } from './host/requirements.ts';
import { clusterDirectory } from './layout.ts';
import { RIG_TOOLS } from './parts.ts';
import { type ClusterRecord, RUN, recordedClusters, removeRecord, writeRecord } from './record.ts';
import { requireFree } from './services.ts';
import { findClusters, removeLeftovers } from './teardown.ts';
import { waitFor } from './wait.ts';

/** What is on the machine of a cluster: control groups, namespaces, bridges, files, mounts, records. */
function traces(name: string): string[] {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return [
    ...findClusters(cgroupVersion()).filter((found) => found === name),
    ...clustersOnNetwork().filter((found) => found === name),
    ...mounts.filter((line) => line.includes(`/clusters/${name}/`)),
    ...(existsSync(clusterDirectory(name)) ? [clusterDirectory(name)] : []),
    ...recordedClusters().filter((found) => found === name),
  ];
}

describeReal(
  'one control plane with a configuration of Talos 1.13',
  { tools: RIG_TOOLS, root: true, linux: true },
  () => {
    it('comes up, has one document, and leaves nothing behind', async () => {
      const cluster = await talosCluster({ controlPlanes: 1, workers: 0, contract: 'v1.13', name: 'legacytest' });
      try {
        const { healthy = 0 } = cluster.milestones;
        process.stderr.write(`talos 1+0: healthy after ${healthy} ms\n`);
        const configuration = readFileSync(join(cluster.directory, 'controlplane.yaml'), 'utf8');

        expect(healthy).toBeGreaterThan(0);
        expect(configuration).not.toContain('KubeAPIServerCAConfig');
        expect(configuration).toContain('aggregatorCA:');
        await expect(talosCluster({ controlPlanes: 1, workers: 0, name: 'legacytest' })).rejects.toThrow(
          /^the cluster legacytest exists already \(process \d+ is using a Talos cluster, since .*\): take it down first/,
        );
      } finally {
        await cluster[Symbol.asyncDispose]();
      }
      expect(traces('legacytest')).toEqual([]);
      expect(() => openCluster('legacytest')).toThrow('there is no cluster legacytest');
    });
  },
);

describeReal('what a killed run left', { tools: RIG_TOOLS, root: true, linux: true }, () => {
  let child: ChildProcess | undefined;

  afterEach(() => child?.kill('SIGKILL'));

  it('is removed by the next start', async () => {
    const script = `import { talosCluster } from '${join(import.meta.dirname, 'cluster.ts')}';
      await talosCluster({ controlPlanes: 1, workers: 0, name: 'killedrun' });`;
    child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], { stdio: 'ignore' });
    await waitFor('the machine to have power', 60_000, () => {
      return recordedClusters().includes('killedrun') && openCluster('killedrun').machine('cp1').isOn();
    });
    child.kill('SIGKILL');
    await waitFor('the process to end', 60_000, () => child?.signalCode === 'SIGKILL');
    expect(traces('killedrun')).not.toEqual([]);

    expect(await removeLeftovers(cgroupVersion())).toContain('killedrun');

    expect(traces('killedrun')).toEqual([]);
  });
});

describeReal('a sweep while others use clusters', { root: true, linux: true }, () => {
  const record: ClusterRecord = {
    ...{ name: 'swept', index: 9, controlPlanes: 1, workers: 0, contract: 'v1.14', endpoint: '10.77.9.1:6443' },
    ...{ directory: clusterDirectory('swept'), rootfs: '/nonexistent', images: [] },
  };
  const locks = () => {
    const directory = join(RUN, 'locks', 'swept');
    return existsSync(directory) ? readdirSync(directory) : [];
  };

  afterEach(() => removeRecord('swept'));

  it('leaves a cluster alone whose process runs, and does not take its lock even for a moment', async () => {
    writeRecord({ ...record, owner: ownerNow('a test') });
    const before = locks();

    expect(await removeLeftovers(cgroupVersion())).not.toContain('swept');

    expect(recordedClusters()).toContain('swept');
    expect(locks()).toEqual(before);
  });

  it('removes one whose process has ended', async () => {
    writeRecord({ ...record, owner: { ...ownerNow('a test'), started: 'never' } });

    expect(await removeLeftovers(cgroupVersion())).toContain('swept');

    expect(traces('swept')).toEqual([]);
  });
});

describeReal('what cannot be', { tools: RIG_TOOLS, root: true, linux: true }, () => {
  let server: Server | undefined;

  afterEach(() => server?.close());

  it.each([
    [{ controlPlanes: 0, workers: 0 }, 'a cluster has 1 to 5 control planes, not 0'],
    [{ controlPlanes: 6, workers: 0 }, 'a cluster has 1 to 5 control planes, not 6'],
    [{ controlPlanes: 1, workers: 4 }, 'a cluster has 0 to 3 workers, not 4'],
    [
      { controlPlanes: 1, workers: 0, name: 'Not-A-Name' },
      'a cluster\'s name is a letter and up to nine letters and digits, all lower case, not "Not-A-Name"',
    ],
  ])('%o is refused in one line', async (options, message) => {
    await expect(talosCluster(options)).rejects.toThrow(message);
  });

  it('a cluster that another process makes at this moment is named with that process', async () => {
    using _held = tryLock(join(RUN, 'locks', 'taken'), 'making the cluster taken') as Disposable;

    await expect(talosCluster({ controlPlanes: 1, workers: 0, name: 'taken' })).rejects.toThrow(
      `the cluster taken is in use: process ${process.pid} is making the cluster taken, since `,
    );
    expect(traces('taken')).toEqual([]);
  });

  it('a port in use is named with who listens there', async () => {
    const taken = createServer();
    server = taken;
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;

    await expect(requireFree('the image registry', '127.0.0.1', port)).rejects.toThrow(
      new RegExp(
        `^port ${port} for the image registry on 127[.]0[.]0[.]1 is in use( by \\S+ [(]process \\d+[)])?: stop what listens there$`,
      ),
    );
  });

  it('a patch that Talos refuses leaves nothing behind', async () => {
    const patches = { all: ['machine:\n  nonsense: true\n'] };

    await expect(talosCluster({ controlPlanes: 1, workers: 0, name: 'badpatch', patches })).rejects.toThrow(
      /^talosctl gen config: /,
    );
    expect(traces('badpatch')).toEqual([]);
  });

  it('a program that is gone after it was found fails with its name', () => {
    expect(() => toolPath('talosctll')).toThrow('no part is called talosctll; there are: talosctl, ');
  });
});

describe('a machine that lacks something', () => {
  const GIB = 2 ** 30;
  const enough: HostFacts = {
    platform: 'linux',
    uid: 0,
    programs: () => true,
    availableMemory: 16 * GIB,
    availableDisk: 100 * GIB,
    fileSystem: 0xef53,
    stateDirectory: '/cache',
  };
  const size = { controlPlanes: 3, workers: 1 };

  it('is told nothing when it lacks nothing', () => {
    expect(lackOf(size, enough)).toBeUndefined();
  });

  it.each([
    [{ platform: 'darwin' }, 'a Talos cluster needs Linux, this is darwin'],
    [{ uid: 1000 }, 'a Talos cluster needs root: run it with sudo'],
    [
      { programs: (name: string) => name !== 'nsenter' },
      'the program nsenter is missing: install it (Debian: util-linux)',
    ],
    [
      { fileSystem: 0x794c7630 },
      '/cache is on an overlay file system, on which containers cannot be run: set ICHOR_CACHE to a directory on a disk',
    ],
    [
      { availableMemory: GIB },
      'too little memory for 3 control planes and 1 workers: 1024 MiB available, 2050 MiB needed; free some or ask for fewer machines',
    ],
    [
      { availableDisk: GIB },
      'too little disk for 3 control planes and 1 workers in /cache: 1024 MiB available, 2550 MiB needed; free some or set ICHOR_CACHE',
    ],
  ])('%o is told in one line', (facts, message) => {
    expect(lackOf(size, { ...enough, ...facts })).toBe(message);
  });
});
