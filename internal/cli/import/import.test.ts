import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { createEnvelope } from '../../../pkg/bundle/index.ts';
import { renderStage } from '../../../pkg/machineconfig/index.ts';
import { Secret } from '../../../pkg/pki/index.ts';
import { aBundleDocument } from '../../../test/builders/bundle.ts';
import { MADE_AT } from '../../../test/builders/certificates.ts';
import { aClusterFolder, aFolder, type CliOptions, runInProcess } from '../../../test/builders/cli.ts';
import {
  aMachineConfig,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
} from '../../../test/builders/machine-config.ts';
import { aTalosconfig } from '../../../test/builders/talosconfig.ts';

const RECIPIENT = 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p';

/** The material of the bundle of the tests, as a machine configuration holds it. */
async function bundleMaterial(): Promise<ClusterMaterial> {
  const { bundle } = await aBundleDocument();
  return { ...bundle, encryption: (await someMaterial()).encryption };
}

/** A control plane's configuration whose cluster secret has its real length. */
function aConfig(options: Omit<Parameters<typeof aMachineConfig>[0], 'role'>): string {
  return aMachineConfig(options).replaceAll('c2VjcmV0', `${'QUFB'.repeat(10)}QUE=`);
}

/** Machines that give this configuration to whoever asks. */
function machines(config: string): CliOptions['connections'] {
  const talos = () => ({
    configuration: async () => ({ config: Secret.of('machine-config', config) }),
    close: () => undefined,
  });
  return { talos: talos as never };
}

describe('ichor cluster import', () => {
  it('makes a directory from a talosconfig alone, by reading a control plane', async () => {
    using folder = aFolder();
    const material = await someMaterial();
    writeFileSync(join(folder.path, 'config'), await aTalosconfig(material.talos, MADE_AT));

    const run = await runInProcess(['cluster', 'import', 'seed', '--talosconfig', 'config', '-o', 'json'], {
      directory: folder.path,
      now: MADE_AT,
      connections: machines(aConfig({ shape: 'typed', material })),
    });

    assert.equal(run.code, 0, run.stderr);
    const result = JSON.parse(run.stdout);
    assert.equal(result.directory, join(folder.path, 'seed'));
    assert.equal(result.certificates[1].fingerprint, material.kubernetes.certificate.fingerprint);
    for (const name of ['secrets.yaml', 'talosconfig']) {
      assert.equal(statSync(join(folder.path, 'seed', name)).mode & 0o777, 0o600);
    }
    assert.equal(statSync(join(folder.path, 'seed')).mode & 0o777, 0o700);
  });

  it.each(['legacy', 'mixed', 'typed'] as const)(
    'says what a control plane of the %s shape accepts in the middle of a rotation, and nothing outside of one',
    async (shape) => {
      using folder = aFolder();
      const [before, after] = [await someMaterial('key2'), await someMaterial('key3')];
      writeFileSync(join(folder.path, 'config'), await aTalosconfig(before.talos, MADE_AT));
      const targets = shape === 'legacy' ? ['talos', 'kubernetes'] : ['talos', 'kubernetes', 'kubernetes-aggregator'];
      const changes = changesBetween(before, after).filter(({ target }) => targets.includes(target));
      const config = aConfig({ shape, material: before });
      const noted = async (found: string, directory: string) => {
        const run = await runInProcess(['cluster', 'import', '--dir', directory, '--talosconfig', 'config'], {
          directory: folder.path,
          now: MADE_AT,
          connections: machines(found),
        });
        assert.equal(run.code, 0, run.stderr);
        return [...run.stdout.matchAll(/^note: \S+ accepts the certificate authority (\w+) besides the one/gm)].map(
          ([, print]) => print,
        );
      };
      const at = (stage: 'Accepting' | 'Issuing' | 'Dropping') =>
        noted(renderStage(config, changes, stage, { talosVersion: '1.14.1' }), stage);
      const prints = (from: ClusterMaterial) =>
        [from.talos, from.kubernetes, from.aggregator]
          .slice(0, targets.length)
          .map((ca) => ca.certificate.fingerprint.slice(0, 16));

      assert.deepEqual(await noted(config, 'before'), []);
      assert.deepEqual(await at('Accepting'), prints(after));
      assert.deepEqual(await at('Issuing'), prints(before));
      assert.deepEqual(await at('Dropping'), []);
    },
  );

  it.runIf(process.platform === 'linux')('says where no directory can be made, as in /proc', async () => {
    using folder = aFolder();
    const material = await someMaterial();
    writeFileSync(join(folder.path, 'config'), await aTalosconfig(material.talos, MADE_AT));

    const run = await runInProcess(['cluster', 'import', '--dir', '/proc/ichor', '--talosconfig', 'config'], {
      directory: folder.path,
      now: MADE_AT,
      connections: machines(aConfig({ shape: 'typed', material })),
    });

    assert.notEqual(run.code, 0);
    assert.match(run.stderr, /\/proc\/ichor cannot be made: its file system takes no folders/);
  });

  it('takes a bundle as it is when it is that of the cluster', async () => {
    using source = aClusterFolder();
    using folder = aFolder();
    const material = await bundleMaterial();
    // An expired talosconfig does not stand in the way: the bundle has the CA.
    writeFileSync(join(source.path, 'talosconfig'), await aTalosconfig(material.talos, MADE_AT, { validityMs: 1_000 }));

    const run = await runInProcess(
      [
        'cluster',
        'import',
        '--dir',
        'home',
        '--secrets',
        join(source.path, 'secrets.yaml'),
        '--talosconfig',
        join(source.path, 'talosconfig'),
      ],
      { directory: folder.path, now: MADE_AT + 3_600_000, connections: machines(aConfig({ material })) },
    );

    assert.equal(run.code, 0, run.stderr);
    assert.deepEqual(
      readFileSync(join(folder.path, 'home', 'secrets.yaml')),
      readFileSync(join(source.path, 'secrets.yaml')),
    );
  });

  it('refuses a bundle that is not that of the cluster, with both fingerprints, and writes nothing', async () => {
    using source = aClusterFolder();
    using folder = aFolder();
    const { bundle } = await aBundleDocument();
    const other = { ...(await bundleMaterial()), etcd: (await someMaterial()).etcd };
    writeFileSync(join(source.path, 'talosconfig'), await aTalosconfig(bundle.talos, MADE_AT));

    const run = await runInProcess(
      [
        'cluster',
        'import',
        '--dir',
        'home',
        '--secrets',
        join(source.path, 'secrets.yaml'),
        '--talosconfig',
        join(source.path, 'talosconfig'),
      ],
      { directory: folder.path, now: MADE_AT, connections: machines(aConfig({ material: other })) },
    );

    assert.equal(run.code, 4);
    assert.ok(
      run.stderr.startsWith(
        `error: ${source.path}/secrets.yaml is not the bundle of this cluster: 10.0.0.1 runs with the etcd CA ${other.etcd.certificate.fingerprint}, the file holds ${bundle.etcd.certificate.fingerprint}\n`,
      ),
      run.stderr,
    );
    assert.throws(() => statSync(join(folder.path, 'home')), { code: 'ENOENT' });
  });

  it('asks for a directory: keys are not strewn into the working directory', async () => {
    using folder = aFolder();
    const material = await someMaterial();
    writeFileSync(join(folder.path, 'config'), await aTalosconfig(material.talos, MADE_AT));

    const run = await runInProcess(['cluster', 'import', '--talosconfig', 'config'], {
      directory: folder.path,
      now: MADE_AT,
      connections: machines(aConfig({ material })),
    });

    assert.deepEqual([run.code, readdirSync(folder.path)], [2, ['config']]);
    assert.equal(
      run.stderr,
      'error: no directory is named\nGive --dir DIRECTORY, or a NAME for one below this directory.\n',
    );
  });

  it('leaves a talosconfig that lies in its place as it is, and replaces no other', async () => {
    using folder = aFolder();
    const material = await someMaterial();
    const talosconfig = `# mine\n${await aTalosconfig(material.talos, MADE_AT)}`;
    for (const name of ['home', 'other']) {
      mkdirSync(join(folder.path, name));
      writeFileSync(join(folder.path, name, 'talosconfig'), talosconfig);
    }
    const options = { directory: folder.path, now: MADE_AT, connections: machines(aConfig({ material })) };
    const from = ['--talosconfig', 'home/talosconfig'];

    const taken = await runInProcess(['cluster', 'import', '--dir', 'other', ...from], options);
    const inPlace = await runInProcess(['cluster', 'import', '--dir', 'home', ...from], options);

    assert.deepEqual(
      [taken.code, taken.stderr],
      [4, `error: ${folder.path}/other/talosconfig is there already\nChoose another --dir. Nothing was changed.\n`],
    );
    assert.equal(inPlace.code, 0, inPlace.stderr);
    assert.equal(readFileSync(join(folder.path, 'home', 'talosconfig'), 'utf8'), talosconfig);
    assert.deepEqual(readdirSync(join(folder.path, 'home')), ['secrets.yaml', 'talosconfig']);
  });

  it('says which file is missing where an identity or a bundle cannot be read', async () => {
    using folder = aClusterFolder();
    writeFileSync(join(folder.path, 'config'), await aTalosconfig((await aBundleDocument()).bundle.talos, MADE_AT));
    const imported = ['cluster', 'import', 'home', '--talosconfig', 'config', '--offline'];

    const run = await runInProcess([...imported, '--secrets', 'secrets.yaml', '--identity', 'none'], {
      directory: folder.path,
    });

    assert.deepEqual(
      [run.code, run.stderr],
      [6, `error: the age identity ${folder.path}/none cannot be read\nCheck --identity.\n`],
    );
  });

  it('writes nothing under a NAME that is not the one of the cluster, from a control plane or from a file', async () => {
    using source = aClusterFolder();
    using folder = aFolder();
    const material = await bundleMaterial();
    writeFileSync(join(folder.path, 'config'), await aTalosconfig(material.talos, MADE_AT));
    const options = { directory: folder.path, now: MADE_AT, connections: machines(aConfig({ material })) };
    const imported = ['cluster', 'import', 'prod', '--talosconfig', 'config'];
    const file = ['--secrets', join(source.path, 'secrets.yaml')];

    const live = await runInProcess(imported, options);
    const compared = await runInProcess([...imported, ...file], options);
    const left = readdirSync(folder.path);
    const offline = await runInProcess([...imported, ...file, '--offline'], options);

    assert.deepEqual([live.code, compared.code, left], [4, 4, ['config']]);
    assert.equal(
      live.stderr,
      'error: "prod" was asked for, and this cluster is "seed" according to 10.0.0.1\nCheck --talosconfig and --context. A folder of another name is given with --dir. Nothing was changed.\n',
    );
    // Nobody says otherwise there: the name is that of the folder.
    assert.equal(offline.code, 0, offline.stderr);
    assert.deepEqual(readdirSync(join(folder.path, 'prod')), ['secrets.yaml', 'talosconfig']);
  });

  it('encrypts a plain file where that is asked for, and says where what it wrote is plain', async () => {
    using source = aClusterFolder();
    writeFileSync(join(source.path, 'config'), await aTalosconfig((await bundleMaterial()).talos, MADE_AT));
    const options = { directory: source.path, now: MADE_AT };
    const imported = ['cluster', 'import', '--talosconfig', 'config', '--secrets', 'secrets.yaml', '--offline'];

    const sealed = await runInProcess(
      [...imported, '--dir', 'sealed', '--recipient', RECIPIENT, '-o', 'json'],
      options,
    );
    const plain = await runInProcess([...imported, '--dir', 'plain'], options);
    const wrong = await runInProcess([...imported, '--dir', 'wrong', '--recipient', 'somebody'], options);

    assert.equal(sealed.code, 0, sealed.stderr);
    assert.equal(JSON.parse(sealed.stdout).encrypted, true);
    assert.match(
      readFileSync(join(source.path, 'sealed', 'secrets.yaml'), 'utf8'),
      /^-----BEGIN AGE ENCRYPTED FILE-----\n/,
    );
    assert.match(plain.stdout, /\n.*plain\/secrets\.yaml is NOT encrypted: it holds every key of the cluster$/m);
    assert.equal(wrong.code, 2);
    assert.throws(() => statSync(join(source.path, 'wrong')), { code: 'ENOENT' });
  });

  it('refuses to encrypt for others what is encrypted already', async () => {
    using source = aClusterFolder();
    writeFileSync(join(source.path, 'config'), await aTalosconfig((await bundleMaterial()).talos, MADE_AT));
    const envelope = createEnvelope({ recipients: [RECIPIENT] }, { armored: true });
    const plain = readFileSync(join(source.path, 'secrets.yaml'));
    writeFileSync(join(source.path, 'sealed'), await envelope.seal(plain, 'sealed'));

    const run = await runInProcess(
      [
        ...['cluster', 'import', '--dir', 'home', '--talosconfig', 'config', '--offline'],
        ...['--secrets', 'sealed', '--recipient', RECIPIENT],
      ],
      { directory: source.path, now: MADE_AT },
    );

    assert.equal(run.code, 2);
    assert.match(
      run.stderr,
      /sealed is encrypted already; --recipient encrypts a bundle that is plain\nLeave --recipient out: it stays encrypted for the same people\./,
    );
    assert.throws(() => statSync(join(source.path, 'home')), { code: 'ENOENT' });
  });

  it.each([
    [['--offline'], '--offline needs --secrets: without it, the bundle is read from a control plane'],
    [['--identity', 'key'], '--identity needs --secrets: what is read from a control plane is not encrypted'],
  ])('refuses %j without --secrets, where it would count for nothing', async (options, message) => {
    using folder = aFolder();

    const run = await runInProcess(['cluster', 'import', '--dir', 'home', ...options], { directory: folder.path });

    assert.deepEqual([run.code, run.stderr.split('\n')[0]], [2, `error: ${message}`]);
  });

  it('asks endpoints that are written with the port of the Talos API, or in brackets', async () => {
    using folder = aFolder();
    const material = await someMaterial();
    const endpoints = ['[fd00::1]', 'cp2.example.org:50000'];
    writeFileSync(join(folder.path, 'config'), await aTalosconfig(material.talos, MADE_AT, { endpoints }));
    const asked: string[] = [];
    const { talos } = machines(aConfig({ material })) ?? {};
    const first = () => Promise.reject(new Error('this one is away'));

    const run = await runInProcess(['cluster', 'import', 'seed', '--talosconfig', 'config'], {
      directory: folder.path,
      now: MADE_AT,
      connections: {
        talos: ((options: { address: string }) => {
          asked.push(options.address);
          const machine = (talos as unknown as () => object)();
          return asked.length > 1 ? machine : { ...machine, configuration: first };
        }) as never,
      },
    });

    assert.equal(run.code, 0, run.stderr);
    assert.deepEqual(asked, ['fd00::1', 'cp2.example.org']);
    assert.match(readFileSync(join(folder.path, 'seed', 'talosconfig'), 'utf8'), /\[fd00::1\]/);
  });

  it('never replaces a bundle', async () => {
    using folder = aClusterFolder();

    const run = await runInProcess(['cluster', 'import', '--dir', '.'], { directory: folder.path });

    assert.deepEqual(
      [run.code, run.stderr],
      [4, `error: ${folder.path}/secrets.yaml is there already\nChoose another --dir. Nothing was changed.\n`],
    );
  });
});

describe('ichor cluster bundle-export', () => {
  it('writes the same bytes, readable by the owner only, and prints no key', async () => {
    using folder = aClusterFolder();
    const original = readFileSync(join(folder.path, 'secrets.yaml'));

    const run = await runInProcess(['cluster', 'bundle-export', '--to', 'copy.yaml'], { directory: folder.path });

    assert.equal(run.code, 0, run.stderr);
    assert.deepEqual(readFileSync(join(folder.path, 'copy.yaml')), original);
    assert.equal(statSync(join(folder.path, 'copy.yaml')).mode & 0o777, 0o600);
    const secrets = [...original.toString().matchAll(/: (\S{20,})/g)].map((match) => match[1] ?? '');
    assert.ok(secrets.length > 10);
    assert.deepEqual(
      secrets.filter((secret) => run.stdout.includes(secret)),
      [],
    );
  });

  it('encrypts for other people when it is asked to', async () => {
    using folder = aClusterFolder();

    const run = await runInProcess(
      ['cluster', 'bundle-export', '--to', 'copy.age', '--recipient', RECIPIENT, '-o', 'json'],
      {
        directory: folder.path,
      },
    );

    assert.equal(run.code, 0, run.stderr);
    assert.equal(JSON.parse(run.stdout).encrypted, true);
    assert.match(readFileSync(join(folder.path, 'copy.age'), 'utf8'), /^-----BEGIN AGE ENCRYPTED FILE-----\n/);
  });

  it('takes a recipient that is none for a mistake on the command line', async () => {
    using folder = aClusterFolder();

    const run = await runInProcess(['cluster', 'bundle-export', '--to', 'copy.age', '--recipient', 'somebody'], {
      directory: folder.path,
    });

    assert.deepEqual(
      [run.code, run.stderr],
      [
        2,
        `error: ${folder.path}/copy.age: the age recipient somebody is not valid; expected age1…\nCheck --recipient. Nothing was written.\n`,
      ],
    );
  });

  it('exports under a NAME only the directory that is called so, or whose talosconfig selects it', async () => {
    using folder = aFolder();
    using bundle = aClusterFolder();
    const { talos } = await bundleMaterial();
    for (const name of ['prod', 'staging']) {
      mkdirSync(join(folder.path, name));
      copyFileSync(join(bundle.path, 'secrets.yaml'), join(folder.path, name, 'secrets.yaml'));
    }
    writeFileSync(join(folder.path, 'staging', 'talosconfig'), await aTalosconfig(talos, MADE_AT, { name: 'blue' }));
    const run = (from: string, ...more: string[]) =>
      runInProcess(['cluster', 'bundle-export', '--to', 'copy', '--force', ...more], {
        directory: join(folder.path, from),
      });

    const inOther = await run('prod', 'staging');
    const ofOther = await run('.', 'prod', '--dir', 'staging');
    const left = [readdirSync(folder.path), readdirSync(join(folder.path, 'prod'))];
    const right = [
      await run('.', 'prod'),
      await run('prod', 'prod'),
      await run('staging', 'blue'),
      await run('prod', 'blue', '--dir', '../staging'),
    ];

    assert.deepEqual([inOther.code, ofOther.code, left], [4, 4, [['prod', 'staging'], ['secrets.yaml']]]);
    assert.equal(
      inOther.stderr,
      `error: "staging" was asked for, and this cluster is "prod" according to its folder ${folder.path}/prod\nName the directory with --dir, and leave NAME out where it is the right one. Nothing was changed.\n`,
    );
    assert.match(
      ofOther.stderr,
      /"prod" was asked for, and this cluster is "staging" according to its folder .*staging and "blue" according to its talosconfig\n/,
    );
    assert.deepEqual(
      right.map(({ code, stderr }) => [code, stderr]),
      right.map(() => [0, '']),
    );
  });

  it('knows the bundle itself behind a link, and leaves it as it is', async () => {
    using folder = aClusterFolder();
    using elsewhere = aFolder();
    symlinkSync(folder.path, join(elsewhere.path, 'link'));
    const original = readFileSync(join(folder.path, 'secrets.yaml'));

    const run = await runInProcess(
      [
        ...['cluster', 'bundle-export', '--to', join(elsewhere.path, 'link', 'secrets.yaml')],
        ...['--force', '--recipient', RECIPIENT],
      ],
      { directory: folder.path },
    );

    assert.equal(run.code, 4);
    assert.match(
      run.stderr,
      /link\/secrets\.yaml is secrets\.yaml of the cluster directory, where nothing else is written\n/,
    );
    assert.deepEqual(readFileSync(join(folder.path, 'secrets.yaml')), original);
  });

  it('never takes the place of a file of the cluster directory, which is there or not, with --force neither', async () => {
    using folder = aClusterFolder();
    writeFileSync(join(folder.path, 'rotation.yaml'), 'the record of a rotation', { mode: 0o600 });
    const before = readdirSync(folder.path);
    const exported = ['cluster', 'bundle-export', '--force', '--to'];

    for (const name of ['rotation.yaml', 'talosconfig', 'kubeconfig', 'operations/rotate-1.yaml']) {
      const run = await runInProcess([...exported, name], { directory: folder.path });

      assert.deepEqual(
        [run.code, run.stderr],
        [
          4,
          `error: ${folder.path}/${name} is ${name} of the cluster directory, where nothing else is written\nName another file. Nothing was changed.\n`,
        ],
      );
    }
    assert.deepEqual(readdirSync(folder.path), before);
    assert.equal(readFileSync(join(folder.path, 'rotation.yaml'), 'utf8'), 'the record of a rotation');
  });

  it('refuses to replace a file and to print keys', async () => {
    using folder = aClusterFolder();

    writeFileSync(join(folder.path, 'copy'), '');
    symlinkSync('/dev/null', join(folder.path, 'link'));
    const exported = ['cluster', 'bundle-export', '--to'];

    const taken = await runInProcess([...exported, 'copy'], { directory: folder.path });
    const itself = await runInProcess([...exported, 'secrets.yaml', '--force'], { directory: folder.path });
    const link = await runInProcess([...exported, 'link', '--force'], { directory: folder.path });
    const device = await runInProcess([...exported, '/dev/null', '--force'], { directory: folder.path });
    const printed = await runInProcess(['cluster', 'bundle-export'], { directory: folder.path });

    assert.deepEqual([taken.code, itself.code, link.code, device.code, printed.code], [4, 4, 6, 6, 2]);
    assert.equal(
      device.stderr,
      'error: /dev/null is no plain file, and is not replaced\nName the file itself. Nothing was changed.\n',
    );
    assert.equal(printed.stderr, 'error: --to names no file; keys are never printed\n');
  });
});
