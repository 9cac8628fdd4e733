import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kubeconfigText } from '../../../internal/lab/credentials.ts';
import { untilListening } from '../../../internal/lab/listening.ts';
import { type Certificate, type CertificateAndKey, createCa } from '../../../pkg/pki/index.ts';
import { aKubeLab, type KubeLab } from '../../builders/kube-lab.ts';
import { describeReal } from '../../support/real.ts';
import { toolPath } from '../../tools/tools.ts';

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

describeReal('kubectl against a lab', { tools: ['kubectl'] }, () => {
  let lab: KubeLab;
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ichor-kubectl-'));
    lab = await aKubeLab({ block: 10, controlPlanes: 3, workers: 1 });
    await login('admin', lab.admin, [lab.bundle.kubernetes.certificate]);
  });
  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  async function login(name: string, credentials: CertificateAndKey, trust: readonly Certificate[]): Promise<void> {
    const { certificate, key } = credentials;
    const server = `https://${lab.machine('cp1').address}:6443`;
    const text = kubeconfigText({ clusterName: 'lab', server, trust, certificate, key: key.expose() });
    await writeFile(join(directory, name), text, { mode: 0o600 });
  }

  interface Run {
    readonly ended: Promise<Ended>;
    /** Resolves when so many lines are printed. */
    lines(count: number): Promise<string[]>;
    stop(): void;
  }

  /** Starts kubectl as `admin`, or as somebody else. */
  function start(line: string, options: { readonly as?: string; readonly input?: string } = {}): Run {
    const config = ['--kubeconfig', join(directory, options.as ?? 'admin'), '--cache-dir', join(directory, 'cache')];
    const child = spawn(toolPath('kubectl'), [...config, ...line.split(' ')], {
      env: { HOME: directory },
      stdio: 'pipe',
    });
    child.stdin.end(options.input ?? '');
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    const ended = new Promise<Ended>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, out, err }));
    });
    return {
      ended,
      stop: () => child.kill(),
      lines: (count) =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            const printed = out.split('\n').slice(0, -1);
            if (printed.length >= count) resolve(printed);
          };
          child.stdout.on('data', look);
          child.on('close', () => reject(new Error(`kubectl ended before it printed ${count} lines: ${out}${err}`)));
          look();
        }),
    };
  }

  /** Runs kubectl to its end. */
  const kubectl = (...of: Parameters<typeof start>): Promise<Ended> => start(...of).ended;

  const rows = ({ out }: Ended): string[][] =>
    out
      .trimEnd()
      .split('\n')
      .map((row) => row.trim().split(/\s{2,}/));

  it('prints nodes in the usual columns', async () => {
    const [head, first] = rows(await kubectl('get nodes -o wide'));

    expect(head).toEqual([
      ...['NAME', 'STATUS', 'ROLES', 'AGE', 'VERSION', 'INTERNAL-IP', 'EXTERNAL-IP'],
      ...['OS-IMAGE', 'KERNEL-VERSION', 'CONTAINER-RUNTIME'],
    ]);
    expect(first?.slice(0, 3)).toEqual(['cp1', 'Ready', 'control-plane']);
  });

  it('prints pods of every namespace with their nodes', async () => {
    const [head, ...pods] = rows(await kubectl('get pods -A -o wide'));

    expect(head).toEqual([
      ...['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'IP', 'NODE'],
      ...['NOMINATED NODE', 'READINESS GATES'],
    ]);
    expect(pods).toHaveLength(17);
    expect(pods.every((pod) => pod[3] === 'Running')).toBe(true);
  });

  it('knows every resource by its short name, and says which there are', async () => {
    const { out, code } = await kubectl('api-resources -o name');
    const named = out
      .trim()
      .split('\n')
      .filter((name) => !name.startsWith('selfsubject'));
    const asked = await kubectl(`get ${named.join(',')} -A`);

    expect(code).toBe(0);
    expect(asked).toMatchObject({ code: 0 });
    expect((await kubectl('get no,po,cm,ns,svc,sa,ev,ds,deploy,rs,csr,pdb -A')).code).toBe(0);
  });

  it('drains a node behind a budget: a second pod goes only when the first is back', async () => {
    const { workloads } = lab.lab.world.kubernetes;
    const nodes = workloads.pods.filter((pod) => pod.app === 'web').map((pod) => pod.node ?? '');
    expect(new Set(nodes).size).toBe(2);

    const drained = await kubectl(`drain ${nodes.join(' ')} --ignore-daemonsets --timeout=60s`);

    expect(drained).toMatchObject({ code: 0 });
    expect(drained.err).toContain("Cannot evict pod as it would violate the pod's disruption budget.");
    expect(workloads.pods.filter((pod) => pod.app === 'web').some((pod) => nodes.includes(pod.node ?? ''))).toBe(false);
    expect((await kubectl(`get node ${nodes[0]}`)).out).toContain('Ready,SchedulingDisabled');
    expect(await kubectl(`uncordon ${nodes.join(' ')}`)).toMatchObject({ code: 0 });
  });

  it('shows a node in full', async () => {
    const { out } = await kubectl('describe node w1');

    expect(out).toMatch(/HolderIdentity: +w1/);
    expect(out).toMatch(/Ready +True .* KubeletReady/);
    expect(out).toContain('kube-proxy-');
  });

  it('watches changes as they come', async () => {
    const watching = start('get nodes w1 --watch');
    await watching.lines(2);

    await kubectl('cordon w1');
    await watching.lines(3);
    await kubectl('uncordon w1');
    const seen = await watching.lines(4);
    watching.stop();

    const states = seen.map((line) => line.trim().split(/\s{2,}/)[1]);
    expect(states).toEqual(['STATUS', 'Ready', 'Ready,SchedulingDisabled', 'Ready']);
  });

  it('waits for what a watch will bring', async () => {
    expect(await kubectl('rollout restart deployment web')).toMatchObject({ code: 0 });
    expect(await kubectl('rollout status deployment web --timeout=30s')).toMatchObject({ code: 0 });
    expect(await kubectl('wait --for=condition=Ready pod -l app=web --timeout=10s')).toMatchObject({ code: 0 });
  });

  it('creates, reads, applies and deletes objects', async () => {
    const map = (data: string): string => `{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: ${data}}`;

    expect(await kubectl('create configmap map --from-literal=a=1')).toMatchObject({ code: 0 });
    expect(await kubectl('create configmap map --from-literal=a=1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('already exists'),
    });
    expect((await kubectl('get cm map -o jsonpath={.data.a}')).out).toBe('1');
    expect(await kubectl('delete cm map')).toMatchObject({ code: 0 });
    expect(await kubectl('get cm map')).toMatchObject({
      code: 1,
      err: 'Error from server (NotFound): configmaps "map" not found\n',
    });

    expect((await kubectl('apply -f -', { input: map('{a: "1", b: "2"}') })).out).toBe('configmap/map created\n');
    expect((await kubectl('apply -f -', { input: map('{a: "1"}') })).out).toBe('configmap/map configured\n');
    expect((await kubectl('get cm map -o jsonpath={.data}')).out).toBe('{"a":"1"}');
    expect(await kubectl('delete cm map')).toMatchObject({ code: 0 });

    expect((await kubectl('apply --server-side -f -', { input: map('{a: "1", b: "2"}') })).code).toBe(0);
    expect(await kubectl('apply --server-side --field-manager=other -f -', { input: map('{a: "3"}') })).toMatchObject({
      code: 1,
      err: expect.stringContaining('conflict with "kubectl": .data.a'),
    });
    expect((await kubectl('apply --server-side -f -', { input: map('{a: "1"}') })).code).toBe(0);
    expect((await kubectl('get cm map -o jsonpath={.data}')).out).toBe('{"a":"1"}');
  });

  it('says who somebody is, what he may do, and that the server is well', async () => {
    expect((await kubectl('auth whoami')).out).toContain('[system:masters system:authenticated]');
    expect((await kubectl('auth can-i delete nodes')).out).toBe('yes\n');
    expect((await kubectl('get --raw /readyz?verbose')).out).toBe('[+]ping ok\n[+]etcd ok\nreadyz check passed\n');
    expect((await kubectl('version')).out).toContain('Server Version: v1.36.3');
  });

  it('is refused with an old credential once its CA is dropped, and let in with a new one', async () => {
    const next = await createCa('kubernetes', { now: Date.now(), backdateMs: 60_000 });
    const { certificate } = lab.bundle.kubernetes;
    const both = [certificate, next.certificate];
    const apiServers = () => lab.lab.world.planes().flatMap(({ plane }) => plane?.apiServer ?? []);
    /** Until every API server has been started anew and takes requests: it is away for a moment some time after the change. */
    const enter = async (stage: 'Accepting' | 'Issuing' | 'Dropping') => {
      const before = apiServers().map(({ instance }) => instance);
      await lab.rotate('kubernetes', next, stage);
      await lab.until(() =>
        apiServers().every(
          ({ instance, readyAt }, index) =>
            instance > (before[index] ?? 0) && readyAt <= lab.lab.world.clock.monotonic(),
        ),
      );
      await untilListening(lab.machine('cp1').address, 6443);
    };
    await login('admin', lab.admin, both);
    await enter('Accepting');
    await enter('Issuing');
    const profile = { subject: { cn: 'admin', o: ['system:masters'] }, usages: ['client'] as const, now: Date.now() };
    await login('new', await lab.lab.certificates.issue(next.certificate.fingerprint, profile), [next.certificate]);
    expect(await kubectl('get nodes')).toMatchObject({ code: 0 });
    expect(await kubectl('get nodes', { as: 'new' })).toMatchObject({ code: 0 });

    await enter('Dropping');

    expect(await kubectl('get nodes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('You must be logged in to the server'),
    });
    expect(await kubectl('get nodes', { as: 'new' })).toMatchObject({ code: 0 });
  });
});
