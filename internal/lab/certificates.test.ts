import { beforeAll, describe, expect, it } from 'vitest';
import type { SecretsBundle } from '../../pkg/bundle/index.ts';
import { createCa, issueLeaf, talosAdminProfile, verifyChain } from '../../pkg/pki/index.ts';
import { aBundleDocument } from '../../test/builders/bundle.ts';
import { writeConfiguration } from '../simulator/index.ts';
import { createCertificates } from './certificates.ts';

const CP1 = { name: 'cp1', address: '127.9.0.1', role: 'controlplane' } as const;
const W1 = { name: 'w1', address: '127.9.0.2', role: 'worker' } as const;

describe('the certificates of a lab', () => {
  let bundle: SecretsBundle;

  beforeAll(async () => {
    ({ bundle } = await aBundleDocument());
  });

  const configurationOf = (machine: typeof CP1 | typeof W1, shape: 'typed' | 'legacy' = 'typed') =>
    writeConfiguration({
      role: machine.role,
      shape,
      bundle,
      hostname: machine.name,
      endpoint: 'https://10.9.8.7:6443',
    });

  async function learned(shape: 'typed' | 'legacy' = 'typed') {
    const certificates = createCertificates({ now: Date.now });
    await certificates.learn(CP1, configurationOf(CP1, shape));
    await certificates.learn(W1, configurationOf(W1, shape));
    return certificates;
  }

  it.each(['typed', 'legacy'] as const)('are issued by the CAs of a %s configuration', async (shape) => {
    const certificates = await learned(shape);

    for (const [use, ca] of [
      ['apid-server', bundle.talos],
      ['trustd-server', bundle.talos],
      ['etcd-peer', bundle.etcd],
      ['kube-apiserver', bundle.kubernetes],
      ['front-proxy', bundle.aggregator],
    ] as const) {
      const leaf = certificates.leaf(CP1, use, ca.certificate.fingerprint);
      const usage = use === 'front-proxy' ? 'client' : 'server';
      expect(verifyChain(leaf.certificate, [ca.certificate], { now: Date.now(), usage })).toMatchObject({ ok: true });
      expect(certificates.issuerOf(leaf.certificate)).toBe(ca.certificate.fingerprint);
    }
  });

  it('are the same ones at every call, and there for a worker under the CA whose key only control planes have', async () => {
    const certificates = await learned();
    const { fingerprint } = bundle.talos.certificate;

    const leaf = certificates.leaf(W1, 'apid-server', fingerprint);
    await certificates.learn(W1, configurationOf(W1));

    expect(certificates.leaf(W1, 'apid-server', fingerprint)).toBe(leaf);
  });

  it('of apid’s client carry the role that may speak for others', async () => {
    const certificates = await learned();

    const { certificate } = certificates.leaf(CP1, 'apid-client', bundle.talos.certificate.fingerprint);

    expect(certificate.subject).toBe('O=os:impersonator, CN=cp1');
  });

  it('tell who signed a certificate of somebody else, of two CAs with one name', async () => {
    const certificates = await learned();
    const foreign = await createCa('talos', { now: Date.now() });
    const ours = await issueLeaf(bundle.talos, talosAdminProfile({ now: Date.now() }));
    const theirs = await issueLeaf(foreign, talosAdminProfile({ now: Date.now() }));

    expect(certificates.issuerOf(ours.certificate)).toBe(bundle.talos.certificate.fingerprint);
    expect(certificates.issuerOf(theirs.certificate)).toBeUndefined();
  });

  it('of a CA without a key do not exist, and the error names what is missing', async () => {
    const certificates = createCertificates({ now: Date.now });
    await certificates.learn(W1, configurationOf(W1));
    const { fingerprint } = bundle.talos.certificate;

    expect(() => certificates.leaf(W1, 'apid-server', fingerprint)).toThrow(
      `CA ${fingerprint.slice(0, 12)} has no apid-server certificate of w1: no configuration of the lab holds its key`,
    );
    expect(certificates.ca(fingerprint)?.fingerprint).toBe(fingerprint);
  });
});
