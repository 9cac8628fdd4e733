import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  type Change,
  type RenderStage,
  readMachineConfig,
  renderStage,
  type Target,
} from '../../../pkg/machineconfig/index.ts';
import { type ClusterMaterial, changesBetween } from '../../builders/machine-config.ts';
import {
  CONTRACTS,
  configsOf,
  type GeneratedCluster,
  generateCluster,
  rotationOf,
} from '../../builders/talos-configs.ts';
import { describeReal } from '../../support/real.ts';
import { output, run } from '../../support/run.ts';
import { toolPath } from '../../tools/tools.ts';

const STAGES: readonly RenderStage[] = ['Accepting', 'Issuing', 'Dropping'];
const ROLES = ['controlplane', 'worker'] as const;
/** What the old fields cannot do in a machine that runs a Talos before 1.14. */
const NEEDS_TYPED: readonly Target[] = ['kubernetes-aggregator', 'etcd-encryption', 'service-account'];

/** One rendered configuration of the matrix. */
interface Rendering {
  readonly name: string;
  readonly path: string;
  readonly role: (typeof ROLES)[number];
  readonly running: string;
  readonly stage: RenderStage;
  readonly changes: readonly Change[];
  readonly text: string;
}

/** What `test/tools/configjudge` prints of one file, as far as it is compared. */
interface Judgement {
  readonly error?: string;
  readonly role: string;
  readonly talos: Authority;
  readonly kubernetes: Authority;
  readonly aggregator: Authority | null;
  readonly etcd: Authority | null;
  readonly encryption: { readonly resources: readonly EncryptionRule[] } | null;
  readonly secretbox: boolean;
  readonly serviceAccount: {
    readonly accepted: readonly string[];
    readonly issuerURL: string;
    readonly audiences: readonly string[];
  } | null;
}

interface Authority {
  readonly issuing: string;
  readonly hasKey: boolean;
  readonly fits: boolean;
  readonly accepted: readonly string[];
}

interface EncryptionRule {
  readonly resources: readonly string[];
  readonly providers: readonly Record<
    string,
    { readonly keys?: readonly { readonly name: string; readonly secret: string }[] }
  >[];
}

describeReal('Talos judges every rendering', { tools: ['talosctl', 'configjudge'] }, () => {
  let directory: string;
  const clusters: GeneratedCluster[] = [];
  let after: ClusterMaterial;
  const renderings: Rendering[] = [];
  const refused: string[] = [];

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'ichor-judged-'));
    for (const contract of CONTRACTS) clusters.push(await generateCluster(contract, directory));
    after = (await generateCluster('v1.14', join(directory, 'after'))).material;
    for (const cluster of clusters) {
      for (const running of new Set([`${cluster.contract}.1`, 'v1.14.1'])) {
        for (const role of ROLES) renderAll(cluster, role, running);
      }
    }
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** Every target alone, what the version can do all together, each at every stage. */
  function renderAll(cluster: GeneratedCluster, role: (typeof ROLES)[number], running: string): void {
    const changes = rotationOf(cluster.material, after);
    const isOld = running !== 'v1.14.1' && !running.startsWith('v1.14');
    const together =
      isOld && role === 'controlplane' ? changes.filter(({ target }) => !NEEDS_TYPED.includes(target)) : changes;
    for (const set of [...changes.map((change) => [change]), together]) {
      const targets = set.map(({ target }) => target).join('+');
      let text = cluster[role];
      for (const stage of STAGES) {
        const name = `${cluster.contract} ${role} on ${running}: ${targets} ${stage}`;
        try {
          text = renderStage(text, set, stage, { talosVersion: running });
        } catch (error) {
          refused.push(
            `${cluster.contract} ${role} on ${running}: ${targets} ${stage} ${(error as { kind?: string }).kind}`,
          );
          continue;
        }
        const path = join(directory, `${renderings.length}.yaml`);
        writeFileSync(path, text, { mode: 0o600 });
        renderings.push({ name, path, role, running, stage, changes: set, text });
      }
    }
  }

  it('refuses by name exactly what Talos before 1.14 has no way to do', () => {
    const expected = CONTRACTS.filter((contract) => contract !== 'v1.14').flatMap((contract) =>
      NEEDS_TYPED.flatMap((target) =>
        STAGES.map((stage) => `${contract} controlplane on ${contract}.1: ${target} ${stage} needs-newer-talos`),
      ),
    );

    expect(refused).toEqual(expected);
  });

  it('talosctl validate accepts all of them: every contract, role, target and stage', async () => {
    // 11 contracts and versions, 2 roles, 7 sets of targets, 3 stages, less what was refused.
    expect(renderings.length).toBe(11 * 2 * 7 * 3 - refused.length);
    const faults: string[] = [];
    const queue = [...new Map(renderings.map((each) => [each.text, each])).values()];

    async function work(): Promise<void> {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const mode = next.role === 'worker' ? 'metal' : 'cloud';
        const result = await run(toolPath('talosctl'), ['validate', '--mode', mode, '--config', next.path]);
        if (result.code !== 0) faults.push(`${next.name}: ${result.stderr}`);
      }
    }
    await Promise.all([work(), work()]);

    expect(faults).toEqual([]);
  }, 600_000);

  it("Talos's own loader sees in each of them what was meant", async () => {
    const judgements = JSON.parse(
      await output(
        toolPath('configjudge'),
        renderings.map(({ path }) => path),
      ),
    ) as readonly Judgement[];

    const faults = renderings.flatMap((rendering, index) => {
      const judgement = judgements[index];
      if (judgement === undefined) return [`${rendering.name}: not judged`];
      if (judgement.error !== undefined) return [`${rendering.name}: ${judgement.error}`];
      return rendering.changes.flatMap((change) =>
        meaningFaults(judgement, rendering, change).map((fault) => `${rendering.name}: ${fault}`),
      );
    });

    expect(faults).toEqual([]);
  }, 600_000);

  it.each(CONTRACTS)(
    '%s: what talosctl writes for the rotated bundle equals Dropping in every PKI field',
    async (contract) => {
      const cluster = clusters.find((each) => each.contract === contract);
      if (cluster === undefined) throw new Error(`no cluster for ${contract}`);
      const rotated = join(directory, `rotated-${contract}.yaml`);
      const text = readFileSync(cluster.secretsPath, 'utf8');
      const replaced = replaceInSecrets(text, cluster.material, after);
      writeFileSync(rotated, replaced, { mode: 0o600 });

      const written = await configsOf(contract, rotated, join(directory, `rotated-${contract}`));

      const changes = changesBetween(cluster.material, after).filter(
        // A bundle holds one encryption key under Talos's fixed name; with another name it cannot write it.
        ({ target }) => target !== 'etcd-encryption',
      );
      for (const role of ROLES) {
        const dropped = renderStage(cluster[role], changes, 'Dropping', { talosVersion: 'v1.14.1' });
        expect(pkiOf(dropped)).toEqual(pkiOf(written[role]));
        // Not only the fields: every byte. Compared without printing, as both hold keys.
        expect(dropped === written[role]).toBe(true);
      }
    },
  );

  it.each(CONTRACTS)('%s: what talosctl writes is read whole and without a problem', (contract) => {
    const cluster = clusters.find((each) => each.contract === contract);

    const view = readMachineConfig(cluster?.controlplane ?? '');
    const worker = readMachineConfig(cluster?.worker ?? '');

    expect(view.problems).toEqual([]);
    expect(worker.problems).toEqual([]);
    expect(view.minimumTalos).toBe(contract === 'v1.14' ? 'v1.14' : undefined);
    expect([view.role, view.shape, view.clusterName, view.endpoint]).toEqual([
      'controlplane',
      contract === 'v1.14' ? 'typed' : 'legacy',
      'seed',
      'https://10.0.0.9:6443',
    ]);
    expect(view.talos.issuing?.fingerprint).toBe(cluster?.material.talos.certificate.fingerprint);
    expect(view.aggregator?.issuing?.fingerprint).toBe(cluster?.material.aggregator.certificate.fingerprint);
    expect(view.serviceAccount?.issuer).toBe(cluster?.material.serviceAccount.fingerprint);
    expect(worker.kubernetes.hasKey).toBe(false);
  });
});

/** What Talos sees of one change, compared with the table of stages. */
function meaningFaults(judgement: Judgement, { role, stage }: Rendering, change: Change): string[] {
  const sides = { Accepting: [change.old, change.new], Issuing: [change.new, change.old], Dropping: [change.new] }[
    stage
  ];
  const isWorker = role === 'worker';
  const pems = sides.flatMap((each) => ('certificate' in each ? [each.certificate.pem] : []));
  const keys = sides.flatMap((each) => ('secret' in each ? [[each.name, each.secret.expose()]] : []));
  const publicKeys = sides.flatMap((each) => ('publicKey' in each ? [each.publicKey] : []));
  const { talos, kubernetes, aggregator, etcd, encryption, secretbox, serviceAccount } = judgement;
  const rule = encryption?.resources[0];
  const signs = [!isWorker, !isWorker];
  const onControlPlane = <T>(value: T) => (isWorker ? undefined : value);
  const facts: Readonly<Record<Target, readonly [found: unknown, expected: unknown][]>> = {
    // A worker's CA has no key; Talos's accessor gives the list as written, apart from the CA.
    talos: [
      [
        [talos.issuing, talos.accepted, talos.hasKey, talos.fits],
        [pems[0], pems.slice(1), ...signs],
      ],
    ],
    kubernetes: [
      [
        [kubernetes.issuing, kubernetes.accepted],
        [isWorker ? '' : pems[0], pems],
      ],
      [[kubernetes.hasKey, kubernetes.fits], signs],
    ],
    'kubernetes-aggregator': [
      [aggregator?.issuing, onControlPlane(pems[0])],
      [aggregator?.accepted, onControlPlane(pems)],
      [aggregator?.fits, onControlPlane(true)],
    ],
    etcd: [
      [etcd?.issuing, onControlPlane(pems.join(''))],
      [etcd?.fits, onControlPlane(true)],
    ],
    'etcd-encryption': [
      [rule?.providers[0]?.secretbox?.keys?.map(({ name, secret }) => [name, secret]), onControlPlane(keys)],
      [rule?.resources, onControlPlane(['secrets'])],
      [secretbox, false],
    ],
    'service-account': [
      [serviceAccount?.accepted, onControlPlane(publicKeys)],
      [serviceAccount?.issuerURL, onControlPlane('https://10.0.0.9:6443')],
      [serviceAccount?.audiences, onControlPlane(['https://10.0.0.9:6443'])],
    ],
  };
  return facts[change.target]
    .map(([found, expected], index) =>
      isDeepStrictEqual(found, expected) ? '' : `${change.target}: fact ${index} is not as meant`,
    )
    .filter((fault) => fault !== '');
}

/** A bundle with other material: each old text stands there once, in base64. */
function replaceInSecrets(text: string, before: ClusterMaterial, after: ClusterMaterial): string {
  const pairs: [string, string][] = [];
  for (const name of ['talos', 'kubernetes', 'etcd', 'aggregator'] as const) {
    pairs.push([before[name].certificate.pem, after[name].certificate.pem]);
    pairs.push([before[name].key.expose(), after[name].key.expose()]);
  }
  pairs.push([before.serviceAccount.privateKey.expose(), after.serviceAccount.privateKey.expose()]);
  return pairs.reduce((all, [old, next]) => {
    const found = Buffer.from(old).toString('base64');
    expect(all.split(found)).toHaveLength(2);
    return all.replace(found, Buffer.from(next).toString('base64'));
  }, text);
}

/** Every field with PKI in it, read with a plain YAML reader; material as digests, so that a difference prints no key. */
function pkiOf(config: string): unknown[] {
  return parseAllDocuments(config).map((document) => {
    const all = document.toJS({ reviver: (_key, value) => digestOfLong(value) }) as {
      kind?: string;
      issuingCA?: unknown;
      acceptedCAs?: unknown;
      issuer?: unknown;
      accepted?: unknown;
      machine?: Record<string, unknown>;
      cluster?: Record<string, unknown>;
    };
    const { kind, issuingCA, acceptedCAs, issuer, accepted, machine, cluster } = all;
    return {
      ...{ kind, issuingCA, acceptedCAs, issuer, accepted },
      machine: [machine?.ca, machine?.acceptedCAs],
      cluster: [cluster?.ca, cluster?.acceptedCAs, cluster?.aggregatorCA, cluster?.etcd, cluster?.serviceAccount],
    };
  });
}

function digestOfLong(value: unknown): unknown {
  if (typeof value !== 'string' || value.length < 40) return value;
  return createHash('sha256').update(value).digest('hex').slice(0, 16);
}
