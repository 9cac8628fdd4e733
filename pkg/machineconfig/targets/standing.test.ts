import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  aMachineConfig,
  base64,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
} from '../../../test/builders/machine-config.ts';
import type { CertificateAndKey } from '../../pki/index.ts';
import { type Change, drift, explainStage, readMachineConfig, renderStage, stageOf, type Target } from '../index.ts';

const TALOS = { talosVersion: 'v1.14.1' };
const STAGES = ['Accepting', 'Issuing', 'Dropping'] as const;

let before: ClusterMaterial;
let after: ClusterMaterial;
let other: ClusterMaterial;
let changes: Map<Target, Change>;

beforeAll(async () => {
  before = await someMaterial('key2');
  after = await someMaterial('key3');
  other = await someMaterial('key4');
  changes = new Map(changesBetween(before, after).map((change) => [change.target, change]));
});

function change(target: Target): Change {
  const found = changes.get(target);
  if (found === undefined) throw new Error(`no change of ${target}`);
  return found;
}

const crt = ({ certificate }: CertificateAndKey) => base64(certificate.pem);
const print = ({ certificate }: CertificateAndKey) => `sha256:${certificate.fingerprint.slice(0, 16)}`;
const keyPrint = ({ certificate }: CertificateAndKey) => `sha256:${certificate.publicKeyFingerprint.slice(0, 16)}`;

/** Why a configuration is Foreign; its stage where it is not. */
function foreignReason(config: string, target: Target): string | undefined {
  const { stage, reason } = explainStage(config, change(target));
  return stage === 'Foreign' ? reason : stage;
}

/** A control plane in which the field of this CA is empty. */
function without(ca: CertificateAndKey): string {
  return aMachineConfig({ material: before }).replace(crt(ca), '""').replace(base64(ca.key.expose()), '""');
}

/** A control plane whose etcd field holds these certificates, in order, and this key. */
function withEtcd(certificates: readonly CertificateAndKey[], key: CertificateAndKey): string {
  const crt = base64(certificates.map(({ certificate }) => certificate.pem).join(''));
  return aMachineConfig({ material: before })
    .replace(base64(before.etcd.certificate.pem), crt)
    .replace(base64(before.etcd.key.expose()), base64(key.key.expose()));
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it names
const etcdOf = (config: string): any => parse(config.split('\n---\n')[0] ?? '', { intAsBigInt: true }).cluster.etcd.ca;

describe('where the etcd CA stands', () => {
  it('is told by the order of its certificates and by whose key is there', () => {
    const { etcd: older } = before;
    const { etcd: newer } = after;
    const stage = (certificates: readonly CertificateAndKey[], key: CertificateAndKey) =>
      stageOf(withEtcd(certificates, key), change('etcd'));

    expect(stage([older], older)).toBe('Before');
    expect(stage([older, newer], older)).toBe('Accepting');
    expect(stage([newer, older], newer)).toBe('Issuing');
    expect(stage([newer], newer)).toBe('Dropping');
    expect(stage([older, older], older)).toBe('Before');
    expect(stage([older, other.etcd], older)).toBe('Before');
    expect(stage([older, other.etcd, newer], older)).toBe('Accepting');
  });

  it('is Foreign, with what was found, where somebody else changed it', () => {
    const reason = (config: string) => foreignReason(config, 'etcd');
    const withoutKey = withEtcd([before.etcd], before.etcd).replace(base64(before.etcd.key.expose()), '""');
    const withoutCa = without(before.etcd);

    expect(reason(withEtcd([other.etcd, before.etcd], other.etcd))).toBe(
      `cluster.etcd.ca holds ${print(other.etcd)}, ${print(before.etcd)}; expected the old ${print(before.etcd)} or the new ${print(after.etcd)} first`,
    );
    expect(reason(withEtcd([before.etcd, after.etcd], after.etcd))).toBe(
      `cluster.etcd.ca holds the key ${keyPrint(after.etcd)}; expected that of its first certificate, ${keyPrint(before.etcd)}`,
    );
    expect(reason(withoutKey)).toBe(
      `cluster.etcd.ca holds no key; expected that of its first certificate, ${keyPrint(before.etcd)}`,
    );
    expect(reason(withoutCa)).toBe('cluster.etcd.ca holds no CA');
    expect(reason(withoutCa.replace(/ {4}etcd:\n[\s\S]*?(?=\n---)/, '    x: y'))).toBe('cluster.etcd.ca holds no CA');
  });

  it('does not concern workers', () => {
    const worker = aMachineConfig({ material: before, role: 'worker' });

    expect(explainStage(worker, change('etcd'))).toEqual({ stage: 'NotConcerned' });
    expect(renderStage(worker, [change('etcd')], 'Issuing', TALOS)).toBe(worker);
    expect(drift(worker, [change('etcd')], 'Issuing')).toEqual([]);
  });
});

describe('rendering the etcd CA', () => {
  it('keeps a CA that somebody else trusts besides, behind ours', () => {
    const config = withEtcd([before.etcd, other.etcd], before.etcd);
    const field = (stage: (typeof STAGES)[number]) => etcdOf(renderStage(config, [change('etcd')], stage, TALOS)).crt;
    const all = (...cas: CertificateAndKey[]) => base64(cas.map(({ certificate }) => certificate.pem).join(''));

    expect(field('Accepting')).toBe(all(before.etcd, after.etcd, other.etcd));
    expect(field('Issuing')).toBe(all(after.etcd, before.etcd, other.etcd));
    expect(field('Dropping')).toBe(all(after.etcd, other.etcd));
  });

  it('writes the key only where another one signs', () => {
    const accepting = renderStage(withEtcd([before.etcd], before.etcd), [change('etcd')], 'Accepting', TALOS);

    expect(etcdOf(accepting).key).toBe(base64(before.etcd.key.expose()));
    expect(etcdOf(renderStage(accepting, [change('etcd')], 'Issuing', TALOS)).key).toBe(
      base64(after.etcd.key.expose()),
    );
  });

  it('gives back the same text where it is at the stage already', () => {
    const config = withEtcd([after.etcd, before.etcd], after.etcd);

    expect(renderStage(config, [change('etcd')], 'Issuing', TALOS)).toBe(config);
  });

  it('ends a certificate that is there with a newline: Talos puts the next one right behind it', () => {
    const config = withEtcd([before.etcd], before.etcd).replace(
      crt(before.etcd),
      base64(before.etcd.certificate.pem.trimEnd()),
    );

    expect(etcdOf(renderStage(config, [change('etcd')], 'Accepting', TALOS)).crt).toBe(
      base64(before.etcd.certificate.pem + after.etcd.certificate.pem),
    );
  });
});

describe('drift of the etcd CA', () => {
  const items = (config: string, stage: (typeof STAGES)[number]) =>
    drift(config, [change('etcd')], stage).map(({ field, expected, found }) => `${field}: ${found}; ${expected}`);

  it('names both CAs in their order, and the key', () => {
    expect(items(withEtcd([before.etcd], before.etcd), 'Issuing')).toEqual([
      `cluster.etcd.ca.crt: old CA ${print(before.etcd)}; new CA ${print(after.etcd)}, then old CA ${print(before.etcd)}`,
      `cluster.etcd.ca.key: key ${keyPrint(before.etcd)}; key ${keyPrint(after.etcd)}`,
    ]);
  });

  it('is none where somebody trusts another CA behind ours, and names one that signs', () => {
    expect(items(withEtcd([before.etcd, after.etcd, other.etcd], before.etcd), 'Accepting')).toEqual([]);
    expect(items(withEtcd([other.etcd, after.etcd], other.etcd), 'Dropping')).toEqual([
      `cluster.etcd.ca.crt: other CA ${print(other.etcd)}, then new CA ${print(after.etcd)}; new CA ${print(after.etcd)}`,
      `cluster.etcd.ca.key: key ${keyPrint(other.etcd)}; key ${keyPrint(after.etcd)}`,
    ]);
  });

  it('says that nothing is there', () => {
    const withoutCa = without(before.etcd);

    expect(items(withoutCa, 'Dropping')).toEqual([
      `cluster.etcd.ca.crt: nothing; new CA ${print(after.etcd)}`,
      `cluster.etcd.ca.key: no key; key ${keyPrint(after.etcd)}`,
    ]);
  });
});

describe('where a CA with a list of accepted ones stands', () => {
  const plain = () => aMachineConfig({ material: before });
  const reason = (config: string, target: Target = 'talos') => foreignReason(config, target);

  it('is Foreign for two certificates in the place of one', () => {
    const two = base64(before.talos.certificate.pem + after.talos.certificate.pem);

    expect(reason(plain().replace(crt(before.talos), two))).toBe('machine.ca holds 2 certificates, expected one');
  });

  it('is Foreign for a certificate without its key, and with another one', () => {
    const key = base64(before.talos.key.expose());

    expect(reason(plain().replace(key, '""'))).toBe('machine.ca holds a certificate without its key');
    expect(reason(plain().replace(key, base64(other.talos.key.expose())))).toBe(
      `the key in machine.ca (${keyPrint(other.talos)}) is not that of its certificate (${keyPrint(before.talos)})`,
    );
  });

  it('is Foreign for a control plane without a CA', () => {
    const config = without(before.kubernetes);

    expect(reason(config, 'kubernetes')).toBe('cluster.ca holds no CA');
  });

  it('is Foreign, and not the end of reading, on a control plane without any cluster fields', () => {
    const bare = `machine:\n  type: controlplane\n  ca:\n    crt: ${crt(before.talos)}\n    key: ${base64(before.talos.key.expose())}\n`;
    const view = readMachineConfig(bare);

    expect(view.etcd).toBeUndefined();
    expect(view.serviceAccount).toBeUndefined();
    expect(view.encryption).toBeUndefined();
    expect(view.aggregator).toEqual({
      shape: 'legacy',
      issuing: undefined,
      besideIssuing: [],
      hasKey: false,
      keyFingerprint: undefined,
      accepted: [],
    });
    expect(reason(bare, 'kubernetes-aggregator')).toBe('cluster.aggregatorCA holds no CA');
    expect(reason(bare, 'etcd')).toBe('cluster.etcd.ca holds no CA');
    expect(reason(bare, 'service-account')).toBe('no service-account key is there');
  });

  it('is Foreign where somebody put in another aggregator CA, by the name of its field', () => {
    const config = aMachineConfig({ material: other });

    expect(reason(config, 'kubernetes-aggregator')).toBe(
      `cluster.aggregatorCA holds the CA ${print(other.aggregator)}; expected the old ${print(before.aggregator)} or the new ${print(after.aggregator)}`,
    );
  });

  it('is Foreign for the list of a worker that accepts neither, with what it accepts', () => {
    const worker = aMachineConfig({ material: other, role: 'worker', shape: 'typed' });
    const expected = `expected the old ${print(before.kubernetes)} or the new ${print(after.kubernetes)}`;

    expect(reason(worker, 'kubernetes')).toBe(
      `KubeAPIServerCAConfig.acceptedCAs accepts ${print(other.kubernetes)}; ${expected}`,
    );
    const two = `acceptedCAs: [${[other.kubernetes, other.talos].map(({ certificate }) => JSON.stringify(certificate.pem)).join(', ')}]\n`;
    expect(reason(worker.replace(/acceptedCAs:\n(?: +.*\n)+/, two), 'kubernetes')).toBe(
      `KubeAPIServerCAConfig.acceptedCAs accepts ${print(other.kubernetes)}, ${print(other.talos)}; ${expected}`,
    );
    expect(reason(worker.replace(/acceptedCAs:\n(?: +.*\n)+/, 'acceptedCAs: []\n'), 'kubernetes')).toBe(
      `KubeAPIServerCAConfig.acceptedCAs accepts nothing; ${expected}`,
    );
  });

  it('is told in an entry of several certificates, too, which changes where one of them does', () => {
    const entry = (...cas: CertificateAndKey[]) =>
      JSON.stringify(cas.map(({ certificate }) => certificate.pem).join(''));
    const worker = (...cas: CertificateAndKey[]) =>
      aMachineConfig({ material: before, role: 'worker', shape: 'typed' }).replace(
        /acceptedCAs:\n(?: +.*\n)+/,
        `acceptedCAs: [${entry(...cas)}]\n`,
      );
    const config = worker(before.kubernetes, other.kubernetes);
    const rendered = renderStage(config, [change('kubernetes')], 'Dropping', TALOS);

    expect(stageOf(config, change('kubernetes'))).toBe('Before');
    expect(rendered).toContain(entry(after.kubernetes, other.kubernetes));
    expect(stageOf(rendered, change('kubernetes'))).toBe('Dropping');
  });

  it('drifts by a key that is not there, and by every certificate where one should sign', () => {
    const key = base64(before.talos.key.expose());
    const two = base64(before.talos.certificate.pem + other.talos.certificate.pem);
    const items = (config: string) =>
      drift(config, [change('talos')], 'Dropping').map(({ field, found }) => `${field}: ${found}`);

    expect(items(plain().replace(key, '""'))).toEqual([
      `machine.ca: old CA ${print(before.talos)}`,
      'machine.ca.key: no key',
    ]);
    expect(items(plain().replace(crt(before.talos), two))).toContain(
      `machine.ca: old CA ${print(before.talos)}, other CA ${print(other.talos)}`,
    );
  });

  it('is the stage of the CA that signs, whatever else is accepted', () => {
    const list = (...cas: CertificateAndKey[]) =>
      plain().replace(
        '    certSANs',
        `    acceptedCAs:\n${cas.map((ca) => `        - crt: ${crt(ca)}\n`).join('')}    certSANs`,
      );

    expect(stageOf(list(other.talos), change('talos'))).toBe('Before');
    expect(stageOf(list(other.talos, after.talos), change('talos'))).toBe('Accepting');
    expect(stageOf(list(before.talos), change('talos'))).toBe('Before');
    expect(drift(list(other.talos, before.talos), [change('talos')], 'Accepting')).toEqual([
      {
        target: 'talos',
        field: 'machine.acceptedCAs',
        expected: `new CA ${print(after.talos)} accepted`,
        found: `other CA ${print(other.talos)}, old CA ${print(before.talos)}`,
      },
    ]);
  });

  it('has the same list, from whichever stage it comes', () => {
    const render = (config: string, stage: (typeof STAGES)[number]) =>
      renderStage(config, [change('talos')], stage, TALOS);
    const [accepting, issuing] = [render(plain(), 'Accepting'), render(plain(), 'Issuing')];

    expect(render(accepting, 'Issuing')).toBe(issuing);
    expect(render(issuing, 'Accepting')).toBe(accepting);
  });

  it('stays in the list, where somebody put it, while it signs', () => {
    const listed = plain().replace(
      '    certSANs',
      `    acceptedCAs:\n        - crt: ${crt(before.talos)}\n    certSANs`,
    );
    const accepted = (stage: (typeof STAGES)[number]) =>
      readMachineConfig(renderStage(listed, [change('talos')], stage, TALOS)).talos.accepted.map(({ pem }) => pem);

    expect(accepted('Accepting')).toEqual([before.talos.certificate.pem, after.talos.certificate.pem]);
    expect(accepted('Issuing')).toEqual([before.talos.certificate.pem]);
    expect(accepted('Dropping')).toEqual([]);
  });
});
