import type { Scalar } from 'yaml';
import type { Fingerprint, ServiceAccountKey } from '../../pki/index.ts';
import type { Access } from '../access.ts';
import { type AcceptedList, readList } from '../ca-home.ts';
import { MachineConfigError } from '../error.ts';
import { keyFingerprintIn, publicKeysIn, type ScalarField } from '../material.ts';
import type {
  DriftItem,
  RenderRequest,
  RenderStage,
  ServiceAccountChange,
  Standing,
  TargetRenderer,
} from '../model.ts';
import { addDocument } from '../new-document.ts';
import { clusterOf, roleOf } from '../role.ts';
import { legacyShape } from '../shapes/legacy.ts';
import type { Shape } from '../shapes/shape.ts';
import { typedShape } from '../shapes/typed.ts';
import { type Block, holds, withBlock, withoutBlocks } from '../trust-list.ts';
import { knowsTypedDocuments } from '../version.ts';
import type { Edit } from '../yaml/edits.ts';
import { pairOf } from '../yaml/nodes.ts';
import { documentOf } from '../yaml/parse.ts';
import { needsNewerTalos, short } from './ca.ts';

const KIND = 'KubeServiceAccountConfig';

/** Where the service-account key lives on a control plane. */
export interface ServiceAccountHome {
  readonly shape: Shape['name'];
  readonly path: string;
  /** Of the public half of the key that signs. */
  readonly issuer: Fingerprint;
  readonly scalar: Scalar.Parsed;
  /** The public keys that are accepted besides the issuer's own; absent in the old shape. */
  readonly accepted: AcceptedList | undefined;
}

/**
 * The key that signs service-account tokens: `KubeServiceAccountConfig` with its
 * accepted public keys, or the old single `cluster.serviceAccount.key`. Issuer
 * URLs and audiences are never touched; where the old field moves to the document,
 * the issuer is the cluster endpoint, as Talos derives it for the old field.
 */
export const serviceAccount: TargetRenderer<ServiceAccountChange> = {
  stand(access, change) {
    if (roleOf(access) === 'worker') return { stage: 'NotConcerned' };
    return standingOf(serviceAccountHome(access), change);
  },
  render(access, change, request) {
    const home = serviceAccountHome(access);
    if (home === undefined) return [];
    if (!knowsTypedDocuments(request.version)) {
      const why = 'one service-account key signs and checks, so another one refuses every token at once';
      throw needsNewerTalos(access, request, home.path, why);
    }
    if (home.accepted === undefined) return moveToDocument(access, home, change, request);
    return render(access, home, home.accepted, change, request.stage);
  },
  drift(access, change, stage) {
    return roleOf(access) === 'worker' ? [] : driftOf(serviceAccountHome(access), change, stage);
  },
};

/** The service-account key of a control plane, or undefined where there is none. */
export function serviceAccountHome(access: Access): ServiceAccountHome | undefined {
  return access.once('service-account', () => readHome(access));
}

function readHome(access: Access): ServiceAccountHome | undefined {
  if (roleOf(access) === 'worker') return undefined;
  const document = documentOf(access.config, KIND);
  if (document !== undefined) {
    const path = `${KIND}.issuer`;
    const issuer = access.fields.map(document.map, 'issuer', path);
    const scalar = issuer && access.fields.scalar(issuer, 'privateKey', `${path}.privateKey`);
    if (scalar === undefined) return undefined;
    return { ...homeAt(access, typedShape, { scalar, path: `${path}.privateKey` }), accepted: acceptedKeys(access) };
  }
  const cluster = clusterOf(access);
  const account = cluster && access.fields.map(cluster, 'serviceAccount', 'cluster.serviceAccount');
  const scalar = account && access.fields.scalar(account, 'key', 'cluster.serviceAccount.key');
  if (scalar === undefined || scalar.value === '') return undefined;
  return { ...homeAt(access, legacyShape, { scalar, path: 'cluster.serviceAccount.key' }), accepted: undefined };
}

function homeAt(access: Access, shape: Shape, field: ScalarField): Omit<ServiceAccountHome, 'accepted'> {
  const issuer = keyFingerprintIn(access, field, shape.read(access, field));
  return { shape: shape.name, path: field.path, issuer, scalar: field.scalar };
}

/** The list of accepted public keys, one level below the document. */
function acceptedKeys(access: Access): AcceptedList | undefined {
  const document = documentOf(access.config, KIND);
  if (document === undefined) return undefined;
  const { map } = document;
  const accepted = access.fields.map(map, 'accepted', `${KIND}.accepted`);
  const { changes } = access;
  const location = {
    shape: typedShape,
    key: 'publicKeys',
    path: `${KIND}.accepted.publicKeys`,
    after: 'publicKeys',
    blocksOf: (field: ScalarField, pem: string): Block[] =>
      publicKeysIn(access, field, pem).map((key) => ({ id: key.fingerprint, pem: key.pem })),
  };
  if (accepted === undefined) {
    // A field with nothing behind its colon is no list yet.
    const clear = () => changes.removeField(map, 'accepted');
    return readList(access, {
      ...location,
      map: undefined,
      create: (publicKeys) => [...clear(), ...changes.addField(map, 'issuer', 'accepted', { publicKeys })],
      remove: clear,
    });
  }
  const isAlone = accepted.items.length === 1 && pairOf(accepted, 'publicKeys') !== undefined;
  const goesWhole = isAlone && (accepted.flow !== true || map.flow === true);
  return readList(access, {
    ...location,
    map: accepted,
    ...(goesWhole ? { remove: () => changes.removeField(map, 'accepted') } : {}),
  });
}

function blockOf(key: ServiceAccountKey): Block {
  return { id: key.fingerprint, pem: key.publicKey };
}

function standingOf(home: ServiceAccountHome | undefined, change: ServiceAccountChange): Standing {
  if (home === undefined) return { stage: 'Foreign', reason: 'no service-account key is there' };
  const found = home.issuer;
  const entries = home.accepted?.entries ?? [];
  if (found === change.old.fingerprint) {
    return { stage: holds(entries, blockOf(change.new)) ? 'Accepting' : 'Before' };
  }
  if (found === change.new.fingerprint) {
    return { stage: holds(entries, blockOf(change.old)) ? 'Issuing' : 'Dropping' };
  }
  const expected = `the old ${short(change.old.fingerprint)} or the new ${short(change.new.fingerprint)}`;
  return { stage: 'Foreign', reason: `${home.path} holds the key ${short(found)}; expected ${expected}` };
}

function render(
  access: Access,
  home: ServiceAccountHome,
  accepted: AcceptedList,
  change: ServiceAccountChange,
  stage: RenderStage,
): Edit[] {
  const signer = stage === 'Accepting' ? change.old : change.new;
  const isSigner = home.issuer === signer.fingerprint;
  const signing = isSigner ? [] : access.changes.setScalar(home.scalar, signer.privateKey.expose());
  const { entries } = accepted;
  const older = blockOf(change.old);
  const newer = blockOf(change.new);
  if (stage === 'Dropping') return [...signing, ...accepted.arrange(withoutBlocks(entries, [older, newer]))];
  const [wanted, other] = stage === 'Accepting' ? [newer, older] : [older, newer];
  return [
    ...signing,
    ...accepted.arrange(withBlock(entries, wanted, isSigner && stage === 'Accepting' ? undefined : other)),
  ];
}

function moveToDocument(
  access: Access,
  home: ServiceAccountHome,
  change: ServiceAccountChange,
  { stage }: RenderRequest,
): Edit[] {
  const { changes } = access;
  const cluster = clusterOf(access);
  if (cluster === undefined) return [];
  if (stage === 'Dropping') {
    const isNew = home.issuer === change.new.fingerprint;
    return isNew ? [] : changes.setScalar(home.scalar, legacyShape.write(change.new.privateKey.expose()));
  }
  const [signer, accepted] = stage === 'Accepting' ? [change.old, change.new] : [change.new, change.old];
  return [
    ...changes.removeField(cluster, 'serviceAccount'),
    addDocument(access, KIND, {
      issuer: { privateKey: signer.privateKey.expose(), issuerURL: endpointOf(access) },
      accepted: { publicKeys: [accepted.publicKey] },
    }),
  ];
}

/** The endpoint of the old document: the issuer that Talos derives for the old key. */
function endpointOf(access: Access): string {
  const cluster = clusterOf(access);
  const controlPlane = cluster && access.fields.map(cluster, 'controlPlane', 'cluster.controlPlane');
  const path = 'cluster.controlPlane.endpoint';
  const scalar = controlPlane && access.fields.scalar(controlPlane, 'endpoint', path);
  if (scalar !== undefined) return String(scalar.value);
  const message = 'the issuer of service-account tokens is the endpoint, and there is none';
  throw new MachineConfigError('missing-value', message, { where: access.config.where, field: path });
}

function driftOf(
  home: ServiceAccountHome | undefined,
  change: ServiceAccountChange,
  stage: RenderStage,
): Omit<DriftItem, 'target'>[] {
  const name = (id: string) => {
    if (id === change.old.fingerprint) return `old key ${short(id)}`;
    return id === change.new.fingerprint ? `new key ${short(id)}` : `other key ${short(id)}`;
  };
  const drift: Omit<DriftItem, 'target'>[] = [];
  const expected = name((stage === 'Accepting' ? change.old : change.new).fingerprint);
  const found = home === undefined ? 'no key' : name(home.issuer);
  if (expected !== found) drift.push({ field: home?.path ?? `${KIND}.issuer.privateKey`, expected, found });
  const ids = (home?.accepted?.entries ?? []).flat().map(({ id }) => id);
  const field = home?.accepted?.path ?? `${KIND}.accepted.publicKeys`;
  const listed = ids.map(name).join(', ') || 'an empty list';
  const wanted = { Accepting: change.new, Issuing: change.old, Dropping: undefined }[stage];
  if (wanted !== undefined && !ids.includes(wanted.fingerprint)) {
    drift.push({ field, expected: `${name(wanted.fingerprint)} accepted`, found: listed });
  }
  if (stage === 'Dropping' && ids.includes(change.old.fingerprint)) {
    drift.push({ field, expected: `${name(change.old.fingerprint)} gone`, found: listed });
  }
  return drift;
}
