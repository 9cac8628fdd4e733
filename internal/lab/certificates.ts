import { CA_TARGETS, type CaTarget } from '../../api/v1alpha1/index.ts';
import { readMachineConfig } from '../../pkg/machineconfig/index.ts';
import {
  type Certificate,
  type CertificateAndKey,
  type Fingerprint,
  issueLeaf,
  keyFingerprint,
  type LeafProfile,
  type PrivateKeyPem,
  signRequest,
  verifyChain,
} from '../../pkg/pki/index.ts';
import { asText, privateKeysOf, readFullConfiguration, signingCaOf } from './configuration.ts';
import { inputsOf, type LeafSubject, leafProfile, usesOf } from './leaf-profiles.ts';
import { askedNames } from './other-inputs.ts';
import type { Certificates, LeafUse } from './served.ts';

/** The certificates of one lab; `now` is its clock, in milliseconds since the epoch. */
export function createCertificates(options: { now(): number }): Certificates {
  const cas = new Map<Fingerprint, Certificate>();
  const signers = new Map<Fingerprint, { readonly target: CaTarget; readonly ca: CertificateAndKey }>();
  const leaves = new Map<string, { readonly leaf: CertificateAndKey; readonly inputs: string }>();
  const issuers = new Map<Fingerprint, Fingerprint>();
  const machines = new Map<string, LeafSubject>();
  const keys = new Map<Fingerprint, PrivateKeyPem>();

  const keyOf = (machine: string, use: LeafUse, issuer: Fingerprint): string => `${issuer}/${machine}/${use}`;

  async function prepare(subject: LeafSubject): Promise<void> {
    const missing = [...signers.values()].flatMap(({ target, ca }) =>
      usesOf(target, subject.role)
        .filter(
          (use) => leaves.get(keyOf(subject.name, use, ca.certificate.fingerprint))?.inputs !== inputsOf(subject, use),
        )
        .map((use) => ({ ca, use })),
    );
    await Promise.all(
      missing.map(async ({ ca, use }) => {
        const issuer = ca.certificate.fingerprint;
        const leaf = await issueLeaf(ca, leafProfile(subject, use, options.now()));
        const key = keyOf(subject.name, use, issuer);
        // Somebody else may have prepared it meanwhile: the first one stays, as it may be on the wire.
        const inputs = inputsOf(subject, use);
        if (leaves.get(key)?.inputs === inputs) return;
        leaves.set(key, { leaf, inputs });
        keys.set(leaf.certificate.publicKeyFingerprint, leaf.key);
        issuers.set(leaf.certificate.fingerprint, issuer);
      }),
    );
  }

  function signerOf(fingerprint: Fingerprint): CertificateAndKey {
    const signer = signers.get(fingerprint);
    if (signer !== undefined) return signer.ca;
    throw new Error(`no configuration of the lab holds the key of CA ${fingerprint.slice(0, 12)}`);
  }

  return {
    async learn(machine, config) {
      const view = readMachineConfig(config, machine.name);
      for (const each of [view.talos, view.kubernetes, view.aggregator]) {
        for (const ca of [each?.issuing ?? [], each?.accepted ?? []].flat()) cas.set(ca.fingerprint, ca);
      }
      for (const ca of view.etcd?.bundle ?? []) cas.set(ca.fingerprint, ca);
      const configuration = readFullConfiguration(config);
      for (const target of CA_TARGETS) {
        const ca = signingCaOf(configuration, target);
        if (ca !== undefined) signers.set(ca.certificate.fingerprint, { target, ca });
      }
      for (const key of privateKeysOf(configuration)) keys.set(keyFingerprint(key), key);
      const { name, address, role } = machine;
      const token = asText(configuration.machine.token);
      machines.set(name, { name, address, role, endpoint: view.endpoint, asked: askedNames(configuration), token });
      await Promise.all([...machines.values()].map(prepare));
    },
    issuerOf(certificate) {
      if (cas.has(certificate.fingerprint)) return certificate.fingerprint;
      const known = issuers.get(certificate.fingerprint);
      if (known !== undefined) return known;
      const found = signerAmong(certificate, [...cas.values()]);
      if (found !== undefined) issuers.set(certificate.fingerprint, found);
      return found;
    },
    ca: (fingerprint) => cas.get(fingerprint),
    leaf(machine, use, issuer) {
      const found = leaves.get(keyOf(machine.name, use, issuer));
      if (found !== undefined) return found.leaf;
      const why = signers.has(issuer) ? 'it signs nothing of that kind' : 'no configuration of the lab holds its key';
      throw new Error(`CA ${issuer.slice(0, 12)} has no ${use} certificate of ${machine.name}: ${why}`);
    },
    key: (publicKey) => keys.get(publicKey),
    async issue(issuer: Fingerprint, profile: LeafProfile) {
      const leaf = await issueLeaf(signerOf(issuer), profile);
      issuers.set(leaf.certificate.fingerprint, issuer);
      return leaf;
    },
    async sign(issuer, request) {
      const certificate = await signRequest(signerOf(issuer), request, { now: options.now() });
      issuers.set(certificate.fingerprint, issuer);
      return certificate;
    },
  };
}

/** By signature alone: neither time nor usage decide who signed. */
function signerAmong(certificate: Certificate, cas: readonly Certificate[]): Fingerprint | undefined {
  for (const usage of ['client', 'server'] as const) {
    const options = { now: certificate.notBefore, usage, clockSkewMs: Number.POSITIVE_INFINITY };
    const found = verifyChain(certificate, cas, options);
    if (found.ok) return found.root.fingerprint;
  }
  return undefined;
}
