import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Lab, startLab } from '../../../internal/lab/index.ts';
import { describeReal } from '../../support/real.ts';
import { type RunResult, run } from '../../support/run.ts';
import { toolPath } from '../../tools/tools.ts';

/** Each command that people rehearse with, on a lab of three control planes and a worker. */
describeReal('talosctl on a lab', { tools: ['talosctl'] }, () => {
  let lab: Lab;
  let folder: string;
  const machine = (name: string) => {
    const found = lab.world.find(name);
    if (found === undefined) throw new Error(`the lab has no machine ${name}`);
    return found;
  };
  const addressOf = (name: string) => machine(name).address;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ichor-lab-'));
    const size = { controlPlanes: 3, workers: 1, talosVersion: '1.14.1', bootSeconds: 1.3 };
    lab = await startLab({ directory: folder, ...size });
  });

  afterAll(async () => {
    await lab?.close();
    await rm(folder, { recursive: true, force: true });
  });

  function talosctl(args: readonly string[], talosconfig = join(folder, 'talosconfig')): Promise<RunResult> {
    return run(toolPath('talosctl'), ['--talosconfig', talosconfig, ...args], { timeoutMs: 120_000 });
  }

  async function printed(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await talosctl(args);
    expect([args, code, stderr.replaceAll(/^(Applied configuration.*|patched .*)$/gm, '').trim()]).toEqual([
      args,
      0,
      '',
    ]);
    return stdout;
  }

  const everywhere = () => ['-n', ['cp1', 'cp2', 'cp3', 'w1'].map(addressOf).join(',')];

  it('version answers from every machine through one endpoint', async () => {
    const text = await printed('version', '--short', ...everywhere());

    expect(text.match(/Tag: +v1\.14\.1/g)).toHaveLength(4);
  });

  it('get finds kinds by their short names and prints tables and YAML', async () => {
    const members = await printed('get', 'members');
    const config: unknown = parse(await printed('get', 'mc', 'v1alpha1', '-o', 'yaml'));
    const definitions = await printed('get', 'rd');

    expect(members).toMatch(/cp1 +1 +cp1 +controlplane +Talos \(v1\.14\.1\) +\["127\.\d+\.\d+\.\d+"\]/);
    expect((config as { spec: string }).spec).toBe(machine('cp1').config);
    expect(definitions).toContain('kubernetesrootsecrets.secrets.talos.dev');
  });

  it('services tells them with their health', async () => {
    expect(await printed('services', '-n', addressOf('w1'))).toMatch(/kubelet +Running +OK/);
  });

  it('etcd status, members and alarm list name every member and the leader', async () => {
    const status = await printed('etcd', 'status', '-n', ['cp1', 'cp2', 'cp3'].map(addressOf).join(','));
    const members = await printed('etcd', 'members');

    expect(status.trim().split('\n')).toHaveLength(4);
    for (const name of ['cp1', 'cp2', 'cp3']) expect(members).toContain(`https://${addressOf(name)}:2380`);
    expect(await printed('etcd', 'alarm', 'list')).not.toContain('NOSPACE');
  });

  it('etcd forfeit-leadership moves the leader', async () => {
    const leader = lab.world.etcd.leader ?? '';

    await printed('etcd', 'forfeit-leadership', '-n', addressOf(leader));

    expect(lab.world.etcd.leader).not.toBe(leader);
  });

  it('etcd snapshot saves a file that etcd’s own reader opens', async () => {
    const path = join(folder, 'snapshot');
    const { code, stdout, stderr } = await talosctl(['etcd', 'snapshot', path]);

    expect([code, stdout + stderr]).toEqual([0, expect.stringContaining('snapshot info: hash')]);
    expect((await readFile(path)).length % 512).toBe(32);
  });

  it('patch and apply-config change the configuration; a dry run shows the difference', async () => {
    await printed('patch', 'mc', '--patch', '{"machine":{"sysctls":{"vm.swappiness":"1"}}}');
    const file = join(folder, 'config.yaml');
    await writeFile(file, `# by hand\n${machine('cp1').config}`);
    const dry = await talosctl(['apply-config', '-f', file, '--dry-run']);
    await talosctl(['apply-config', '-f', file]);

    expect(dry.stdout + dry.stderr).toContain('+# by hand');
    expect(machine('cp1').config).toMatch(/^# by hand\n[\s\S]*vm\.swappiness/);
  });

  it('an invalid configuration is refused, with the field that Talos does not know', async () => {
    const file = join(folder, 'broken.yaml');
    await writeFile(file, `${machine('cp1').config.replace('machine:\n', 'machine:\n    nonesuch: 1\n')}`);

    const { code, stderr } = await talosctl(['apply-config', '-f', file]);

    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('unknown keys found during decoding: machine.nonesuch'),
    ]);
  });

  it.each([
    [['time'], '127.77.'],
    [['containers', '--namespace', 'cri'], 'NAMESPACE'],
    [['processes'], 'kubelet'],
    [['memory'], 'NODE'],
    [['etcd', 'defrag'], ''],
    [['get', 'kubeletsecrets'], 'KubeletSecret'],
    [['get', 'machinestatus', '-o', 'json'], '"stage": "running"'],
  ] as const)('%s answers', async (args, expected) => {
    expect(await printed(...args)).toContain(expected);
  });

  it('service restarts the kubelet and nothing else; a watch sees it go and come', async () => {
    const watch = spawn(toolPath('talosctl'), [
      ...['--talosconfig', join(folder, 'talosconfig'), '-n', addressOf('w1')],
      ...['get', 'services', 'kubelet', '-w'],
    ]);
    let seen = '';
    watch.stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
    });
    try {
      await expect.poll(() => seen, { timeout: 60_000 }).toMatch(/\+ .*kubelet/);

      await printed('service', 'kubelet', 'restart', '-n', addressOf('w1'));
      const etcd = await talosctl(['service', 'etcd', 'restart', '-n', addressOf('cp1')]);

      expect(etcd.stderr).toContain('service "etcd" doesn\'t support restart operation via API');
      await expect.poll(() => seen, { timeout: 60_000 }).toMatch(/- .*kubelet[\s\S]*\+ .*kubelet/);
    } finally {
      watch.kill();
    }
  });

  it('kubeconfig writes one that trusts the Kubernetes CA', async () => {
    const path = join(folder, 'kubeconfig');
    await printed('kubeconfig', '-f', path);

    const data = Buffer.from(lab.world.bundle.kubernetes.certificate.pem).toString('base64');
    expect(await readFile(path, 'utf8')).toContain(data);
  });

  it('read, dmesg and logs tell what the machine has', async () => {
    expect((await printed('read', '/proc/sys/kernel/random/boot_id')).trim()).toBe(machine('cp1').bootId);
    expect(await printed('dmesg')).toContain('[talos] Talos v1.14.1');
    expect(await printed('logs', 'kubelet')).toContain('Started task kubelet');
  });

  it('config new gives a reader who sees no secrets', async () => {
    const path = join(folder, 'reader');
    await printed('config', 'new', path, '--roles', 'os:reader');
    const asReader = (...args: readonly string[]) =>
      talosctl(['-e', addressOf('cp1'), '-n', addressOf('cp1'), ...args], path);

    expect((await asReader('version')).code).toBe(0);
    const { stderr } = await asReader('get', 'osrootsecrets');
    expect(stderr).toContain('PermissionDenied desc = not authorized');
  });

  it('reboot waits for the other boot', async () => {
    const before = machine('cp2').bootId;

    const { code, stderr } = await talosctl(['reboot', '--wait', '-n', addressOf('cp2')]);

    expect([code, stderr]).toEqual([0, expect.stringContaining('post check passed')]);
    expect(machine('cp2').bootId).not.toBe(before);
  });

  it.each([
    ['by the machine', []],
    ['by talosctl itself', ['--server=false']],
  ])('health waits until the cluster is whole, looked at %s', async (_who, flags) => {
    const { code, stderr } = await talosctl(['health', '--wait-timeout', '100s', ...flags]);

    expect([code, stderr]).toEqual([0, expect.stringContaining('waiting for all k8s nodes to report schedulable: OK')]);
  });

  it('a machine that is off is told as unreachable, by the endpoint that is not', async () => {
    lab.break('power-loss', 'w1');

    const { code, stderr } = await talosctl(['version', '-n', addressOf('w1')]);

    lab.mend('power-loss', 'w1');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/Unavailable.*connection refused/)]);
  });

  it('rotate-ca replaces the CAs of Talos and Kubernetes; old credentials are refused after it and new ones taken', async () => {
    expect((await talosctl(['health', '--wait-timeout', '100s'])).code).toBe(0);
    const path = join(folder, 'rotated');
    const rotated = await talosctl(['rotate-ca', '--dry-run=false', '-o', path]);

    // Nothing else of its output is looked at, or told: it holds keys.
    expect([rotated.code, /Writing new talosconfig/.test(rotated.stdout + rotated.stderr)]).toEqual([0, true]);
    const old = await talosctl(['version', '-n', addressOf('w1')]);
    expect([old.code, old.stderr]).toEqual([1, expect.stringContaining('failed to verify certificate')]);
    const renewed = await talosctl(['version', '--short', ...everywhere()], path);
    expect([renewed.code, renewed.stdout.match(/Tag: +v1\.14\.1/g)?.length]).toEqual([0, 4]);
    for (const { taken } of lab.world.planes()) {
      expect(taken.kubernetes?.accepted.map(({ fingerprint }) => fingerprint)).not.toContain(
        lab.world.bundle.kubernetes.certificate.fingerprint,
      );
    }
  });
});
