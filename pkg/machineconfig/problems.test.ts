import { beforeAll, describe, expect, it } from 'vitest';
import {
  aMachineConfig,
  base64,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
} from '../../test/builders/machine-config.ts';
import { aPlainWorker } from '../../test/builders/plain-worker.ts';
import { type Change, readMachineConfig, renderStage } from './index.ts';

let material: ClusterMaterial;
let talos: Change[];

beforeAll(async () => {
  material = await someMaterial('key2');
  talos = changesBetween(material, await someMaterial('key3')).slice(0, 1);
});

/** What is found, with the line that it is found in. */
function problems(config: string): string[] {
  const lines = config.split('\n');
  return readMachineConfig(config).problems.map(
    ({ kind, field, line, message }) => `${kind}, ${field}, "${lines[line - 1]?.trim()}": ${message}`,
  );
}

const plain = () => aMachineConfig({ material });
const typed = () => aMachineConfig({ material, shape: 'typed' });
const worker = (...lines: string[]) => aPlainWorker(material, lines);
const document = (kind: string) => `---\nkind: ${kind}\napiVersion: v1alpha1\n`;
const documentIn = (config: string, kind: string) =>
  `---\n${config.split(/^---\n/m).find((each) => each.includes(`kind: ${kind}\n`))}`;

describe('what speaks against rendering a control plane', () => {
  it('is nothing in either shape', () => {
    expect(problems(plain())).toEqual([]);
    expect(problems(typed())).toEqual([]);
    expect(problems(aMachineConfig({ material, shape: 'mixed' }))).toEqual([]);
  });

  it.each([
    ['ca', 'KubeAPIServerCAConfig', 'ca:'],
    ['aggregatorCA', 'KubeAggregatorCAConfig', 'aggregatorCA:'],
    ['serviceAccount', 'KubeServiceAccountConfig', 'serviceAccount:'],
    ['secretboxEncryptionSecret', 'KubeEtcdEncryptionConfig', ''],
  ])('is cluster.%s beside a document of kind %s', (field, kind, line) => {
    const [first] = problems(plain() + documentIn(typed(), kind));

    expect(first).toBe(
      `two-homes, cluster.${field}, "${line || `${field}: ${material.encryption.secret.expose()}`}": is set beside a ${kind} document; Talos refuses both, remove one`,
    );
  });

  it('is the older of the two encryption fields beside its document', () => {
    const config = plain().replace('secretboxEncryptionSecret', 'aescbcEncryptionSecret');

    expect(problems(config + documentIn(typed(), 'KubeEtcdEncryptionConfig'))[0]).toContain(
      'two-homes, cluster.aescbcEncryptionSecret, ',
    );
  });

  it.each(['ca:', 'ca: null', 'ca: ~', 'aggregatorCA: ""', 'secretboxEncryptionSecret: ""', 'serviceAccount:'])(
    'is not an empty field (%s) beside a document',
    (field) => {
      expect(problems(typed().replace('cluster:\n', `cluster:\n    ${field}\n`))).toEqual([]);
    },
  );

  const crashes =
    'half-migrated, cluster.serviceAccount, "serviceAccount:": the old service-account key without cluster.controlPlane.endpoint beside it crashes machined of Talos 1.14.0; move the key to a KubeServiceAccountConfig document as well';

  it('is the old service-account key with its endpoint elsewhere, or in both places', () => {
    expect(problems(plain().replace(/ {4}controlPlane:\n.*\n/, ''))).toEqual([crashes]);
    expect(problems(plain().replace(/endpoint: .*/, 'x: y'))).toEqual([crashes]);
    expect(problems(plain() + documentIn(typed(), 'KubeClusterConfig'))).toEqual([crashes]);
  });

  it('is each of the two documents that a KubeAPIServerConfig lacks', () => {
    const lacks = (kind: string) =>
      `half-migrated, KubeAPIServerConfig, "---": a KubeAPIServerConfig document without a ${kind} document: kube-apiserver does not start; add it`;
    const server = plain() + document('KubeAPIServerConfig');

    expect(problems(server)).toEqual([lacks('KubeAuthenticationConfig'), lacks('KubeAuthorizerConfig')]);
    expect(problems(server + document('KubeAuthenticationConfig'))).toEqual([lacks('KubeAuthorizerConfig')]);
    expect(problems(server + document('KubeAuthorizerConfig'))).toEqual([lacks('KubeAuthenticationConfig')]);
    expect(problems(server + document('KubeAuthorizerConfig') + document('KubeAuthenticationConfig'))).toEqual([]);
    expect(problems(plain() + document('KubeAuthorizerConfig'))).toEqual([]);
  });

  it('is a Talos CA that is not there, or not whole', () => {
    const missing = 'missing-value, machine.ca, "version: v1alpha1": a control plane needs the Talos CA with its key';
    const ca = new RegExp(
      `    ca:\\n {8}crt: ${base64(material.talos.certificate.pem).replaceAll('+', '\\+')}\\n.*\\n`,
    );

    expect(problems(plain().replace(base64(material.talos.key.expose()), '""'))).toEqual([missing]);
    expect(problems(plain().replace(ca, ''))).toEqual([missing]);
  });

  it('is a Kubernetes CA document that cannot sign', () => {
    const cannot =
      'half-migrated, KubeAPIServerCAConfig.issuingCA, "---": a control plane without issuingCA cannot sign: its certificate controllers fail; add issuingCA';
    const list = aMachineConfig({ material, shape: 'typed', role: 'worker' });
    const without = typed().replace(documentIn(typed(), 'KubeAPIServerCAConfig'), '');

    expect(problems(without + document('KubeAPIServerCAConfig'))).toEqual([cannot]);
    expect(problems(without + documentIn(list, 'KubeAPIServerCAConfig'))).toEqual([cannot]);
  });

  it('is a Kubernetes CA without an encryption of etcd, of either kind', () => {
    const none = (config: string) => config.replace(/ {4}secretboxEncryptionSecret: .*\n/, '');
    const refused =
      'half-migrated, KubeEtcdEncryptionConfig, "version: v1alpha1": Talos refuses a control plane with a Kubernetes CA and no encryption of etcd';
    const accepts = `    acceptedCAs: [{crt: ${base64(material.kubernetes.certificate.pem)}}]\n`;
    const ca = (config: string) =>
      config.replace(/(?<=clusterName: seed\n[\s\S]*) {4}ca:\n {8}crt: .*\n {8}key: .*\n/, '');

    expect(problems(none(plain()))).toEqual([refused]);
    expect(problems(ca(none(plain())))).toEqual([]);
    expect(problems(ca(none(plain())).replace('cluster:\n', `cluster:\n${accepts}`))).toEqual([refused]);
    expect(problems(none(plain()) + documentIn(typed(), 'KubeEtcdEncryptionConfig'))).toEqual([]);
  });

  it('is any document of Talos 1.14 where the machine runs an older one, and nothing else is', () => {
    const kinds = [
      'KubeAPIServerCAConfig',
      'KubeAggregatorCAConfig',
      'KubeServiceAccountConfig',
      'KubeEtcdEncryptionConfig',
      'KubeClusterConfig',
      'DiscoveryIdentityConfig',
    ];
    const render = (kind: string) => () =>
      renderStage(worker() + document(kind), talos, 'Accepting', { talosVersion: 'v1.13.0', where: 'w' });

    for (const kind of kinds) {
      expect(render(kind)).toThrow(
        expect.objectContaining({
          kind: 'needs-newer-talos',
          field: kind,
          message: `w, line 8, ${kind}: Talos v1.13.0 does not know this kind and would refuse the whole configuration`,
        }),
      );
    }
    expect(render('HostnameConfig')).not.toThrow();
  });
});

describe('what speaks against rendering a worker', () => {
  it('is nothing in either shape, also where it only accepts', () => {
    const crt = base64(material.talos.certificate.pem);

    expect(problems(worker())).toEqual([]);
    expect(problems(aMachineConfig({ material, role: 'worker', shape: 'typed' }))).toEqual([]);
    expect(problems(worker().replace(`  ca:\n    crt: ${crt}\n`, `  acceptedCAs: [{crt: ${crt}}]\n`))).toEqual([]);
  });

  it.each(['KubeAggregatorCAConfig', 'KubeServiceAccountConfig', 'KubeEtcdEncryptionConfig'])(
    'is a document of kind %s',
    (kind) => {
      expect(problems(worker() + document(kind))).toEqual([
        `worker-holds-key, ${kind}, "---": Talos allows this document on control planes only; remove it`,
      ]);
    },
  );

  it.each(['etcd', 'aggregatorCA', 'serviceAccount', 'secretboxEncryptionSecret', 'aescbcEncryptionSecret'])(
    'is the field cluster.%s, unless it is empty',
    (field) => {
      expect(problems(worker().replace('cluster:\n', `cluster:\n  ${field}: x\n`))).toEqual([
        `worker-holds-key, cluster.${field}, "${field}: x": belongs on control planes only; remove it from this worker`,
      ]);
      expect(problems(worker().replace('cluster:\n', `cluster:\n  ${field}: ""\n`))).toEqual([]);
      expect(problems(worker().replace('cluster:\n', `cluster:\n  ${field}:\n`))).toEqual([]);
    },
  );

  it.each([
    ['machine.ca', 'talos'],
    ['cluster.ca', 'kubernetes'],
  ] as const)('is a key in %s', (field, name) => {
    const crt = `crt: ${base64(material[name].certificate.pem)}`;
    const config = aMachineConfig({ material, role: 'worker' }).replace(
      `${crt}\n        key: ""`,
      `${crt}\n        key: ${base64(material[name].key.expose())}`,
    );

    expect(problems(config)).toEqual([
      `worker-holds-key, ${field}, "${crt}": a worker must not hold the key of a CA; keep the certificate only`,
    ]);
  });

  it('is an issuing CA in a document, with its key or without', () => {
    const { pem } = material.kubernetes.certificate;
    const config = aMachineConfig({ material, role: 'worker', shape: 'typed' }).replace(
      'kind: KubeAPIServerCAConfig\n',
      `kind: KubeAPIServerCAConfig\nissuingCA: {cert: ${JSON.stringify(pem)}}\n`,
    );

    expect(problems(config)).toEqual([
      `worker-holds-key, KubeAPIServerCAConfig.issuingCA, "issuingCA: {cert: ${JSON.stringify(pem)}}": a worker must not hold the key of a CA; keep the certificate only`,
    ]);
  });

  it('is that it trusts no Talos CA', () => {
    const crt = base64(material.talos.certificate.pem);
    const nothing =
      'trusts-nothing, machine.ca, "type: worker": the worker trusts no Talos CA (machine.ca.crt, machine.acceptedCAs), so it cannot get a certificate';

    expect(problems(worker().replace(`  ca:\n    crt: ${crt}\n`, ''))).toEqual([nothing]);
    expect(problems(worker().replace(`  ca:\n    crt: ${crt}\n`, '  acceptedCAs: []\n'))).toEqual([nothing]);
  });
});
