import { beforeAll, describe, expect, it } from 'vitest';
import { aCa } from '../../test/builders/certificates.ts';
import { aMachineConfig, base64, type ClusterMaterial, someMaterial } from '../../test/builders/machine-config.ts';
import { type CertificateAndKey, createEncryptionKey } from '../pki/index.ts';
import { type CaView, readMachineConfig } from './index.ts';

let material: ClusterMaterial;
let owners: CertificateAndKey;

beforeAll(async () => {
  material = await someMaterial('key2');
  owners = await aCa('kubernetes');
});

/** A CA as the view shows it, by fingerprints. */
function shown(view: CaView | undefined) {
  if (view === undefined) return undefined;
  const { issuing, accepted, ...rest } = view;
  return { ...rest, issuing: issuing?.fingerprint, accepted: accepted.map(({ fingerprint }) => fingerprint) };
}

const held = ({ certificate }: CertificateAndKey, shape: 'legacy' | 'typed') => ({
  shape,
  issuing: certificate.fingerprint,
  besideIssuing: [],
  hasKey: true,
  keyFingerprint: certificate.publicKeyFingerprint,
  accepted: [],
});

const IDENTITY = { clusterName: 'seed', endpoint: 'https://10.0.0.9:6443', clusterId: 'c2VlZA==' };

describe('the view of a control plane', () => {
  it.each([
    ['legacy', 'legacy', 'legacy', undefined],
    ['mixed', 'typed', 'legacy', 'v1.14'],
    ['typed', 'typed', 'typed', 'v1.14'],
  ] as const)('in the %s shape says what it holds', (shape, kubernetes, rest, minimumTalos) => {
    const view = readMachineConfig(aMachineConfig({ material, shape }));

    expect({
      ...view,
      talos: shown(view.talos),
      kubernetes: shown(view.kubernetes),
      aggregator: shown(view.aggregator),
      etcd: { ...view.etcd, bundle: view.etcd?.bundle.map(({ fingerprint }) => fingerprint) },
    }).toStrictEqual({
      role: 'controlplane',
      shape,
      minimumTalos,
      talos: held(material.talos, 'legacy'),
      kubernetes: held(material.kubernetes, kubernetes),
      aggregator: held(material.aggregator, rest),
      etcd: {
        bundle: [material.etcd.certificate.fingerprint],
        keyFingerprint: material.etcd.certificate.publicKeyFingerprint,
      },
      encryption: {
        shape: rest,
        rules: [
          {
            resources: ['secrets'],
            providers: [
              { provider: 'secretbox', keys: ['key2'] },
              { provider: 'identity', keys: [] },
            ],
          },
        ],
      },
      serviceAccount: {
        shape: rest,
        issuer: material.serviceAccount.fingerprint,
        accepted: [],
        issuerUrl: 'https://10.0.0.9:6443',
      },
      apiServerPort: 6443,
      ...IDENTITY,
      problems: [],
    });
  });

  it.each(['init', 'controlplane'])('is that of a control plane of type %s', (type) => {
    const config = aMachineConfig({ material }).replace('type: controlplane', `type: ${type}`);

    expect(readMachineConfig(config).role).toBe('controlplane');
  });

  it('is mixed where any old field stands beside a document of another kind', () => {
    const typed = aMachineConfig({ material, shape: 'typed' });
    const fields = /^---\nkind: KubeAggregatorCAConfig\n[\s\S]*?(?=^---\n)/m;
    const list = `acceptedCAs: [{crt: ${base64(owners.certificate.pem)}}]`;
    const secret = createEncryptionKey('aescbc', 'any').secret.expose();
    const withOld = (field: string, without: RegExp) =>
      readMachineConfig(typed.replace(without, '').replace('cluster:\n', `cluster:\n    ${field}\n`)).shape;
    const document = (kind: string) =>
      new RegExp(`^---\\napiVersion: v1alpha1\\nkind: ${kind}\\n[\\s\\S]*?(?=^---\\n)`, 'm');

    expect(readMachineConfig(typed.replace(fields, '')).shape).toBe('typed');
    expect(withOld('aggregatorCA: {}', fields)).toBe('mixed');
    expect(withOld(list, document('KubeAPIServerCAConfig'))).toBe('mixed');
    expect(withOld(`aescbcEncryptionSecret: ${secret}`, document('KubeEtcdEncryptionConfig'))).toBe('mixed');
    expect(withOld('serviceAccount: {}', document('KubeServiceAccountConfig'))).toBe('mixed');
    expect(withOld('aggregatorCA: {}', /^$/)).toBe('typed');
  });

  it('names the keys that the old fields stand for, in the order of Talos', () => {
    const aescbc = createEncryptionKey('aescbc', 'any').secret.expose();
    const config = aMachineConfig({ material }).replace(
      '    serviceAccount:',
      `    aescbcEncryptionSecret: ${aescbc}\n    serviceAccount:`,
    );

    expect(readMachineConfig(config).encryption?.rules).toEqual([
      {
        resources: ['secrets'],
        providers: [
          { provider: 'secretbox', keys: ['key2'] },
          { provider: 'aescbc', keys: ['key1'] },
          { provider: 'identity', keys: [] },
        ],
      },
    ]);
  });

  it('takes an empty old field for none', () => {
    const config = aMachineConfig({ material }).replace(
      '    serviceAccount:',
      '    aescbcEncryptionSecret: ""\n    serviceAccount:',
    );

    expect(readMachineConfig(config).encryption?.rules[0]?.providers.map(({ provider }) => provider)).toEqual([
      'secretbox',
      'identity',
    ]);
  });

  it('has no rule where the document of encryption holds none', () => {
    const typed = aMachineConfig({ material, shape: 'typed' });
    const config = typed.replace(/(kind: KubeEtcdEncryptionConfig\n)config:\n(?: +.*\n)+/, '$1');
    expect(config).not.toBe(typed);

    expect(readMachineConfig(config).encryption).toEqual({ shape: 'typed', rules: [] });
  });

  it('lists what is accepted besides, in order', () => {
    const config = aMachineConfig({ material, style: { foreign: [owners, material.aggregator] } });

    expect(shown(readMachineConfig(config).talos)?.accepted).toEqual([
      owners.certificate.fingerprint,
      material.aggregator.certificate.fingerprint,
    ]);
  });

  it('gives the issuer of tokens as it is written, whatever the endpoint is', () => {
    const config = aMachineConfig({ material, shape: 'typed' }).replace(
      'issuerURL: https://10.0.0.9:6443',
      'issuerURL: https://tokens.example.org',
    );

    expect(readMachineConfig(config).serviceAccount?.issuerUrl).toBe('https://tokens.example.org');
  });

  it('names the keys of tokens that are accepted besides, in their order', async () => {
    const others = [(await someMaterial('key3')).serviceAccount, (await someMaterial('key4')).serviceAccount];
    const keys = others.map(
      ({ publicKey }) => `        - |\n${publicKey.trimEnd().replaceAll(/^/gm, '            ')}\n`,
    );
    const config = aMachineConfig({ material, shape: 'typed' }).replace(
      /(kind: KubeServiceAccountConfig\nissuer:\n(?: .*\n)+)/,
      `$1accepted:\n    publicKeys:\n${keys.join('')}`,
    );

    expect(readMachineConfig(config).serviceAccount).toMatchObject({
      issuer: material.serviceAccount.fingerprint,
      accepted: others.map(({ fingerprint }) => fingerprint),
    });
  });

  it('shows what stands behind a CA in its field as no CA that signs', () => {
    const { pem } = material.kubernetes.certificate;
    const config = aMachineConfig({ material }).replace(base64(pem), base64(pem + owners.certificate.pem));

    expect(readMachineConfig(config).kubernetes).toMatchObject({
      issuing: material.kubernetes.certificate,
      besideIssuing: [owners.certificate],
      accepted: [],
    });
  });

  it('shows a CA without its key as that', () => {
    const config = aMachineConfig({ material }).replace(base64(material.kubernetes.key.expose()), '""');

    expect(shown(readMachineConfig(config).kubernetes)).toMatchObject({ hasKey: false, keyFingerprint: undefined });
  });

  it('takes the cluster ID of the old field before that of the document, and names of the document before old ones', () => {
    const config = `${aMachineConfig({ material, shape: 'mixed' })}---
apiVersion: v1alpha1
kind: KubeClusterConfig
clusterName: new
endpoint: https://10.0.0.8:6443
---
apiVersion: v1alpha1
kind: DiscoveryIdentityConfig
clusterID: b3RoZXI=
`;

    expect(readMachineConfig(config)).toMatchObject({
      clusterName: 'new',
      endpoint: 'https://10.0.0.8:6443',
      clusterId: 'c2VlZA==',
    });
  });
});

describe('the view of a worker', () => {
  it('is that of a machine of type join', () => {
    const config = aMachineConfig({ material, role: 'worker' }).replace('type: worker', 'type: join');

    expect(readMachineConfig(config).role).toBe('worker');
  });

  it.each([
    ['legacy', 'legacy'],
    ['typed', 'typed'],
  ] as const)('in the %s shape holds certificates and nothing of control planes', (shape, kubernetes) => {
    const view = readMachineConfig(aMachineConfig({ material, shape, role: 'worker' }));
    const certificate = material.kubernetes.certificate.fingerprint;
    const without = { besideIssuing: [], hasKey: false, keyFingerprint: undefined };

    expect({ ...view, talos: shown(view.talos), kubernetes: shown(view.kubernetes) }).toStrictEqual({
      role: 'worker',
      shape,
      minimumTalos: shape === 'typed' ? 'v1.14' : undefined,
      talos: { ...without, shape: 'legacy', issuing: material.talos.certificate.fingerprint, accepted: [] },
      kubernetes:
        kubernetes === 'typed'
          ? { ...without, shape: 'typed', issuing: undefined, accepted: [certificate] }
          : { ...without, shape: 'legacy', issuing: certificate, accepted: [] },
      aggregator: undefined,
      etcd: undefined,
      encryption: undefined,
      serviceAccount: undefined,
      apiServerPort: undefined,
      ...IDENTITY,
      problems: [],
    });
  });
});
