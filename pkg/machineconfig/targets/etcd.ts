import { type Certificate, writeCertificates } from '../../pki/index.ts';
import type { Access } from '../access.ts';
import { type IssuingCa, readCaHome } from '../ca-home.ts';
import type { CaChange, DriftItem, RenderStage, Standing, TargetRenderer } from '../model.ts';
import { clusterOf, roleOf } from '../role.ts';
import { legacyShape } from '../shapes/legacy.ts';
import type { Edit } from '../yaml/edits.ts';
import { short } from './ca.ts';

const PATH = 'cluster.etcd.ca';

/**
 * The CA of etcd: `cluster.etcd.ca` of control planes, in every version. It has no
 * accepted list; Talos writes the certificate field to the trust file verbatim and
 * signs with the first block, so the field holds both CAs while both are trusted
 * (seen on real Talos 1.14.1).
 */
export const etcd: TargetRenderer<CaChange> = {
  stand(access, change) {
    if (roleOf(access) === 'worker') return { stage: 'NotConcerned' };
    return standingOf(etcdCa(access), change);
  },
  render(access, change, { stage }) {
    const ca = etcdCa(access);
    return ca === undefined ? [] : render(ca, change, stage);
  },
  drift(access, change, stage) {
    return roleOf(access) === 'worker' ? [] : driftOf(etcdCa(access), change, stage);
  },
};

/** The etcd CA of a control plane; its certificates are the bundle, in order. */
export function etcdCa(access: Access): IssuingCa | undefined {
  return access.once('etcd', () => readCa(access));
}

function readCa(access: Access): IssuingCa | undefined {
  const cluster = clusterOf(access);
  if (roleOf(access) === 'worker' || cluster === undefined) return undefined;
  const map = access.fields.map(cluster, 'etcd', 'cluster.etcd');
  if (map === undefined) return undefined;
  return readCaHome(access, { shape: legacyShape, map, path: 'cluster.etcd', issuingKey: 'ca', acceptedKey: undefined })
    .issuing;
}

/** The CAs of the change that a stage has in the bundle, in order; the first one signs. */
function wanted(change: CaChange, stage: RenderStage): readonly Certificate[] {
  const older = change.old.certificate;
  const newer = change.new.certificate;
  return { Accepting: [older, newer], Issuing: [newer, older], Dropping: [newer] }[stage];
}

function standingOf(ca: IssuingCa | undefined, change: CaChange): Standing {
  if (ca === undefined) return { stage: 'Foreign', reason: `${PATH} holds no CA` };
  const ids = ca.certificates.map(({ fingerprint }) => fingerprint);
  const [first] = ca.certificates;
  const older = change.old.certificate.fingerprint;
  const newer = change.new.certificate.fingerprint;
  if (first === undefined || (first.fingerprint !== older && first.fingerprint !== newer)) {
    const found = ids.map(short).join(', ') || 'nothing';
    const reason = `${PATH} holds ${found}; expected the old ${short(older)} or the new ${short(newer)} first`;
    return { stage: 'Foreign', reason };
  }
  const key = ca.keyFingerprint();
  if (key !== first.publicKeyFingerprint) {
    const found = key === undefined ? 'no key' : `the key ${short(key)}`;
    const reason = `${PATH} holds ${found}; expected that of its first certificate, ${short(first.publicKeyFingerprint)}`;
    return { stage: 'Foreign', reason };
  }
  if (first.fingerprint === older) return { stage: ids.includes(newer) ? 'Accepting' : 'Before' };
  return { stage: ids.includes(older) ? 'Issuing' : 'Dropping' };
}

function render(ca: IssuingCa, change: CaChange, stage: RenderStage): Edit[] {
  const ours = wanted(change, stage);
  const ids = new Set([change.old.certificate.fingerprint, change.new.certificate.fingerprint]);
  // Whatever else is trusted stays trusted, behind ours.
  const others = ca.certificates.filter(({ fingerprint }) => !ids.has(fingerprint));
  const bundle = [...ours, ...others];
  const isSame =
    bundle.length === ca.certificates.length &&
    bundle.every(({ fingerprint }, index) => fingerprint === ca.certificates[index]?.fingerprint);
  if (isSame) return ca.terminate();
  const signer = stage === 'Accepting' ? change.old : change.new;
  const keepsKey = ca.keyFingerprint() === signer.certificate.publicKeyFingerprint;
  return ca.set(writeCertificates(bundle), keepsKey ? undefined : signer.key);
}

function driftOf(ca: IssuingCa | undefined, change: CaChange, stage: RenderStage): Omit<DriftItem, 'target'>[] {
  const ours = wanted(change, stage);
  const name = ({ fingerprint }: Certificate) => {
    if (fingerprint === change.old.certificate.fingerprint) return `old CA ${short(fingerprint)}`;
    if (fingerprint === change.new.certificate.fingerprint) return `new CA ${short(fingerprint)}`;
    return `other CA ${short(fingerprint)}`;
  };
  const isOurs = (text: string) => !text.startsWith('other');
  const drift: Omit<DriftItem, 'target'>[] = [];
  const expected = ours.map(name).join(', then ');
  const found = (ca?.certificates ?? []).map(name).filter((text, index) => index === 0 || isOurs(text));
  if (found.join(', then ') !== expected) {
    drift.push({ field: `${PATH}.crt`, expected, found: found.join(', then ') || 'nothing' });
  }
  const expectedKey = `key ${short(ours[0]?.publicKeyFingerprint ?? '')}`;
  const key = ca?.keyFingerprint();
  const foundKey = key === undefined ? 'no key' : `key ${short(key)}`;
  if (expectedKey !== foundKey) drift.push({ field: `${PATH}.key`, expected: expectedKey, found: foundKey });
  return drift;
}
