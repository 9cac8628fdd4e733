import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import type { SecretsBundle } from '../../pkg/bundle/index.ts';
import { openMachineConfig, renderStage } from '../../pkg/machineconfig/index.ts';
import type { Fingerprint } from '../../pkg/pki/index.ts';
import { aBundleDocument } from '../../test/builders/bundle.ts';
import { aMachineConfig, changesBetween, someMaterial } from '../../test/builders/machine-config.ts';
import { anOperation } from '../../test/builders/rotation.ts';
import { createConfigReader, type ReplacedCas, replacedBy, standingOf } from './standing.ts';

const NOTHING: ReplacedCas = new Map();

/** A machine at the end of Issuing of all four CAs, and a bundle that holds the new ones. */
async function issuing(role: 'controlplane' | 'worker', shape: 'legacy' | 'typed') {
  const [before, after] = await Promise.all([someMaterial('key1'), someMaterial('key2')]);
  const changes = changesBetween(before, after).filter(({ target }) => CA_TARGETS.includes(target as never));
  const config = renderStage(aMachineConfig({ material: before, role, shape }), changes, 'Issuing', {
    talosVersion: '1.14.1',
  });
  const bundle: SecretsBundle = { ...(await aBundleDocument()).bundle, ...after };
  const replaced: ReplacedCas = new Map([
    [before.talos.certificate.fingerprint, 'rotate-1'],
    [before.kubernetes.certificate.fingerprint, 'rotate-1'],
    [before.aggregator.certificate.fingerprint, 'rotate-1'],
  ]);
  const state = { bundle, previous: undefined, record: undefined };
  return { config: openMachineConfig(config, 'cp1'), text: config, state, before, after, replaced };
}

/** A worker that trusts what is in `acceptedCAs`: Talos asks for no `machine.ca` there, and 1.14 writes a list alone for Kubernetes. */
async function workerWithList(target: 'talos' | 'kubernetes', accepts: 'both' | 'other') {
  const [ours, theirs] = await Promise.all([someMaterial('key1'), someMaterial('key2')]);
  const [our, other] = [ours[target].certificate, theirs[target].certificate];
  const certificates = accepts === 'both' ? [other, our] : [other];
  const document = parseAllDocuments(aMachineConfig({ material: ours, role: 'worker', shape: 'typed' }));
  for (const each of document) {
    if (target === 'talos' && each.has('machine')) {
      each.deleteIn(['machine', 'ca']);
      each.setIn(
        ['machine', 'acceptedCAs'],
        certificates.map(({ pem }) => ({ crt: Buffer.from(pem).toString('base64') })),
      );
    }
    if (target === 'kubernetes' && each.get('kind') === 'KubeAPIServerCAConfig') {
      each.setIn(
        ['acceptedCAs'],
        certificates.map(({ pem }) => pem),
      );
    }
  }
  return {
    config: openMachineConfig(document.map(String).join(''), 'w1'),
    state: { bundle: { ...(await aBundleDocument()).bundle, ...ours }, previous: undefined, record: undefined },
    ours: our.fingerprint.slice(0, 12),
    other: other.fingerprint.slice(0, 12),
  };
}

describe('a configuration outside of a rotation', () => {
  it.each(['typed', 'legacy'] as const)(
    'is out of place where it accepts what an operation replaced: a control plane, %s',
    async (shape) => {
      const { config, state, before, replaced } = await issuing('controlplane', shape);
      const why = (print: Fingerprint) =>
        `the configuration accepts ${print.slice(0, 12)}, which the operation rotate-1 replaced; take it out of the accepted list`;

      const standing = standingOf(config, { state, replaced });

      expect(standing.talos).toEqual({ stage: 'Foreign', why: why(before.talos.certificate.fingerprint) });
      expect(standing.kubernetes).toEqual({ stage: 'Foreign', why: why(before.kubernetes.certificate.fingerprint) });
      expect(standing.etcd.stage).toBe('Foreign');
      expect(standing['kubernetes-aggregator']).toEqual({
        stage: 'Foreign',
        why: why(before.aggregator.certificate.fingerprint),
      });
    },
  );

  it('may accept what its owner put there, which no operation replaced', async () => {
    const { config, state } = await issuing('controlplane', 'typed');

    const { talos, kubernetes } = standingOf(config, { state, replaced: NOTHING });

    expect([talos.stage, kubernetes.stage]).toEqual(['Before', 'Before']);
  });

  it('may hold what was replaced once and is the CA of the bundle again', async () => {
    const { state, after } = await issuing('worker', 'typed');
    const worker = openMachineConfig(aMachineConfig({ material: after, role: 'worker', shape: 'typed' }), 'w1');
    const replaced: ReplacedCas = new Map([[after.talos.certificate.fingerprint, 'rotate-1']]);

    expect(standingOf(worker, { state, replaced }).talos).toEqual({ stage: 'Before' });
  });

  it.each(['talos', 'kubernetes'] as const)(
    'may accept others beside the %s CA on a worker that has a list alone',
    async (target) => {
      const { config, state } = await workerWithList(target, 'both');

      expect(standingOf(config, { state, replaced: NOTHING })[target]).toEqual({ stage: 'Before' });
    },
  );

  it.each(['talos', 'kubernetes'] as const)(
    'is another cluster’s where a list does not hold the %s CA',
    async (target) => {
      const { config, state, other, ours } = await workerWithList(target, 'other');

      expect(standingOf(config, { state, replaced: NOTHING })[target]).toEqual({
        stage: 'Foreign',
        why: `the configuration holds ${other}; the bundle holds ${ours}`,
      });
    },
  );

  it.each(['controlplane', 'worker'] as const)(
    'is no beginning where two certificates stand where one issues: a rotation would stop at it when the record is written (%s)',
    async (role) => {
      const [ours, theirs] = await Promise.all([someMaterial('key1'), someMaterial('key2')]);
      const one = ours.talos.certificate;
      const two = Buffer.from(one.pem + theirs.talos.certificate.pem).toString('base64');
      const text = aMachineConfig({ material: ours, role, shape: 'typed' });
      const config = openMachineConfig(text.replace(Buffer.from(one.pem).toString('base64'), two), 'm1');
      const bundle = { ...(await aBundleDocument()).bundle, ...ours };

      const { talos } = standingOf(config, {
        state: { bundle, previous: undefined, record: undefined },
        replaced: NOTHING,
      });

      const [held, other] = [one, theirs.talos.certificate].map(({ fingerprint }) => fingerprint.slice(0, 12));
      expect(talos).toEqual({
        stage: 'Foreign',
        why: `the configuration holds ${held}, ${other}; the bundle holds ${held}`,
      });
    },
  );

  it('says why it could not be changed, with line and field', async () => {
    const { text, state } = await issuing('controlplane', 'typed');
    const read = (config: string) => createConfigReader().read(config, { state, replaced: NOTHING }, 'cp1').unfit;
    const lines = text.split('\n').length;

    expect(read(text)).toBeUndefined();
    expect(read(`${text}---\napiVersion: v1alpha1\nkind: KubeAPIServerConfig\n`)).toBe(
      `line ${lines}: KubeAPIServerConfig: a KubeAPIServerConfig document without a KubeAuthenticationConfig document: kube-apiserver does not start; add it`,
    );
  });

  it('says where kube-apiserver listens, on control planes', async () => {
    const reader = createConfigReader();
    const read = async (role: 'controlplane' | 'worker') => {
      const { text, state } = await issuing(role, 'typed');
      return reader.read(text, { state, replaced: NOTHING }, 'any').apiServerPort;
    };

    expect(await read('controlplane')).toBe(6443);
    expect(await read('worker')).toBeUndefined();
  });

  it('is read anew when another operation is over', async () => {
    const { text, state, replaced } = await issuing('controlplane', 'typed');
    const reader = createConfigReader();

    const stages = [NOTHING, replaced, NOTHING].map(
      (each) => reader.read(text, { state, replaced: each }, 'cp1').standing.talos.stage,
    );

    expect(stages).toEqual(['Before', 'Foreign', 'Before']);
  });
});

describe('replacedBy', () => {
  it('names the old CAs of operations that are done, and of no other', () => {
    const done = anOperation({ stage: 'Done', targets: ['talos', 'etcd'] });
    const running = anOperation({ stage: 'Dropping', targets: ['kubernetes'] });
    const old = done.status.caRotation.certificates.map((each) => each.old);

    expect([...replacedBy([running, done])]).toEqual(old.map((print) => [print, 'rotate-1']));
    expect(old).toHaveLength(2);
  });
});
