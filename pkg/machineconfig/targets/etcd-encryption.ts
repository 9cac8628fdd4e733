import type { EncryptionKey } from '../../pki/index.ts';
import type { Access } from '../access.ts';
import {
  type EncryptionProviderEntry,
  type EncryptionRule,
  type EncryptionRules,
  type EncryptionSlot,
  LEGACY_KEYS,
  readEncryption,
} from '../encryption-rules.ts';
import { MachineConfigError } from '../error.ts';
import type {
  DriftItem,
  EncryptionChange,
  RenderRequest,
  RenderStage,
  StageName,
  Standing,
  TargetRenderer,
} from '../model.ts';
import { addDocument } from '../new-document.ts';
import { clusterOf, roleOf } from '../role.ts';
import { knowsTypedDocuments } from '../version.ts';
import type { Edit } from '../yaml/edits.ts';
import type { Value } from '../yaml/emit.ts';
import { needsNewerTalos } from './ca.ts';

/**
 * The key that encrypts objects in etcd. In every rule that holds the old key,
 * the new one stands behind it, then before it, then alone; other keys, other
 * providers and rules without it are carried along. The old fields know one key
 * a provider (Talos `k8stemplates/apiserver.go`), so they move to the document,
 * with the names that they stand for.
 */
export const etcdEncryption: TargetRenderer<EncryptionChange> = {
  stand(access, change) {
    if (roleOf(access) === 'worker') return { stage: 'NotConcerned' };
    return standingOf(readEncryption(access), change);
  },
  render(access, change, request) {
    const encryption = readEncryption(access);
    if (encryption === undefined) return [];
    refuse(access, encryption, change, request);
    if (encryption.shape === 'legacy') return moveToDocument(access, encryption, change, request.stage);
    return concerned(encryption, change).flatMap((rule) => renderRule(access, rule, change, request.stage));
  },
  drift(access, change, stage) {
    return roleOf(access) === 'worker' ? [] : driftOf(readEncryption(access), change, stage);
  },
};

function sameName(a: EncryptionKey, b: EncryptionKey): boolean {
  return a.provider === b.provider && a.name === b.name;
}

/** How a key is named in messages: never by its bytes. */
function label({ provider, name }: EncryptionKey): string {
  return `${provider} key ${name}`;
}

function slotsOf(rule: EncryptionRule): readonly EncryptionSlot[] {
  return rule.providers.flatMap(({ keys }) => keys);
}

function concerned({ rules }: EncryptionRules, change: EncryptionChange): EncryptionRule[] {
  return rules.filter((rule) =>
    slotsOf(rule).some(({ key }) => sameName(key, change.old) || sameName(key, change.new)),
  );
}

function standingOf(encryption: EncryptionRules | undefined, change: EncryptionChange): Standing {
  const rules = encryption === undefined ? [] : concerned(encryption, change);
  const expected = `the old ${label(change.old)} or the new ${label(change.new)}`;
  if (rules.length === 0) return { stage: 'Foreign', reason: `no encryption rule holds ${expected}` };
  const stages = new Map<StageName, string>();
  for (const rule of rules) {
    const standing = ruleStanding(rule, change);
    if (standing.stage === 'Foreign') return standing;
    stages.set(standing.stage, rule.path);
  }
  const [[stage] = ['Foreign' as const], second] = [...stages];
  if (second === undefined) return { stage };
  const found = [...stages].map(([each, path]) => `${path} at ${each}`).join(', ');
  return { stage: 'Foreign', reason: `the encryption rules stand at different stages: ${found}` };
}

function ruleStanding(rule: EncryptionRule, change: EncryptionChange): Standing {
  const slots = slotsOf(rule);
  for (const ours of [change.old, change.new]) {
    const other = slots.find(({ key }) => sameName(key, ours) && !key.secret.equals(ours.secret));
    if (other !== undefined) {
      const reason = `${rule.path} holds another secret under the name of the ${label(ours)}`;
      return { stage: 'Foreign', reason };
    }
  }
  const oldAt = slots.findIndex(({ key }) => sameName(key, change.old));
  const newAt = slots.findIndex(({ key }) => sameName(key, change.new));
  if (newAt === -1) return { stage: 'Before' };
  if (oldAt === -1) return { stage: 'Dropping' };
  return { stage: oldAt < newAt ? 'Accepting' : 'Issuing' };
}

function refuse(access: Access, encryption: EncryptionRules, change: EncryptionChange, request: RenderRequest): void {
  const field = encryption.rules[0]?.path ?? 'KubeEtcdEncryptionConfig';
  if (!knowsTypedDocuments(request.version)) {
    const why = 'the old fields hold one encryption key a provider under a fixed name, so two cannot be read at a time';
    throw needsNewerTalos(access, request, field, why);
  }
  const place = { where: access.config.where, field };
  if (sameName(change.old, change.new)) {
    const message = `the new key has the provider and name of the old ${label(change.old)}; stored objects could not tell them apart`;
    throw new MachineConfigError('bad-change', message, place);
  }
  const writes = concerned(encryption, change).some((rule) => {
    const first = rule.providers[0]?.keys[0]?.key;
    return first !== undefined && (sameName(first, change.old) || sameName(first, change.new));
  });
  if (writes) return;
  const message = `the ${label(change.old)} writes in no rule, it only reads; rotate the key that writes, and drop this one when no object names it`;
  throw new MachineConfigError('bad-change', message, place);
}

function keyValue({ name, secret }: EncryptionKey): Value {
  return { name, secret: secret.expose() };
}

function providerValue(key: EncryptionKey): Value {
  return { [key.provider]: { keys: [keyValue(key)] } };
}

/** The keys of the change in the order of a stage. */
function wanted(change: EncryptionChange, stage: RenderStage): readonly EncryptionKey[] {
  return { Accepting: [change.old, change.new], Issuing: [change.new, change.old], Dropping: [change.new] }[stage];
}

function renderRule(access: Access, rule: EncryptionRule, change: EncryptionChange, stage: RenderStage): Edit[] {
  const isThere = slotsOf(rule)
    .map(({ key }) => key)
    .filter((key) => sameName(key, change.old) || sameName(key, change.new));
  const order = wanted(change, stage);
  if (isThere.length === order.length && isThere.every((key, index) => sameName(key, order[index] ?? change.old)))
    return [];
  return change.old.provider === change.new.provider
    ? renderSameProvider(access, rule, change, order)
    : renderOtherProvider(access, rule, change, stage);
}

interface Position {
  readonly provider: number;
  readonly key: number;
  readonly slot: EncryptionSlot;
}

function positions(rule: EncryptionRule, change: EncryptionChange): Position[] {
  return rule.providers.flatMap(({ keys }, provider) =>
    keys.flatMap((slot, key) =>
      sameName(slot.key, change.old) || sameName(slot.key, change.new) ? [{ provider, key, slot }] : [],
    ),
  );
}

/** Both keys are of one provider: names and secrets change places inside its list. */
function renderSameProvider(
  access: Access,
  rule: EncryptionRule,
  change: EncryptionChange,
  order: readonly EncryptionKey[],
): Edit[] {
  const { changes } = access;
  const found = positions(rule, change);
  const edits: Edit[] = [];
  for (const [index, position] of found.entries()) {
    const key = order[index];
    if (key === undefined) edits.push(...removeSlot(access, rule, position));
    else if (!sameName(key, position.slot.key) && position.slot.fields !== undefined) {
      edits.push(...changes.setScalar(position.slot.fields.name.scalar, key.name));
      edits.push(...changes.setScalar(position.slot.fields.secret.scalar, key.secret.expose()));
    }
  }
  const last = found.at(-1);
  const list = last === undefined ? undefined : rule.providers[last.provider]?.list;
  if (last === undefined || list === undefined) return edits;
  return [...edits, ...changes.addItems(list, last.key + 1, order.slice(found.length).map(keyValue))];
}

/** The keys are of two providers: the new one has an entry of its own beside the old one's. */
function renderOtherProvider(
  access: Access,
  rule: EncryptionRule,
  change: EncryptionChange,
  stage: RenderStage,
): Edit[] {
  const { changes } = access;
  const found = positions(rule, change);
  const older = found.find(({ slot }) => sameName(slot.key, change.old));
  const newer = found.find(({ slot }) => sameName(slot.key, change.new));
  if (rule.list === undefined) return [];
  if (older === undefined) {
    // Backwards from Dropping: the old key comes back beside the new one.
    if (newer === undefined) return [];
    const at = stage === 'Accepting' ? newer.provider : newer.provider + 1;
    return changes.addItems(rule.list, at, [providerValue(change.old)]);
  }
  const isAlone = rule.providers[older.provider]?.keys.length === 1;
  if (stage === 'Dropping' && newer === undefined && isAlone) {
    return changes.replaceItem(rule.list, older.provider, providerValue(change.new));
  }
  const stands = newer !== undefined && newer.provider < older.provider;
  const edits: Edit[] = [];
  const belongsBefore = stage !== 'Accepting';
  if (newer === undefined || stands !== belongsBefore) {
    if (newer !== undefined) edits.push(...removeSlot(access, rule, newer));
    edits.push(
      ...changes.addItems(rule.list, belongsBefore ? older.provider : older.provider + 1, [providerValue(change.new)]),
    );
  }
  if (stage === 'Dropping') edits.push(...removeSlot(access, rule, older));
  return edits;
}

/** Removes a key, and its provider where it was the only one. */
function removeSlot(access: Access, rule: EncryptionRule, { provider, key }: Position): Edit[] {
  const entry = rule.providers[provider];
  if (entry?.list === undefined || rule.list === undefined) return [];
  if (entry.keys.length === 1) return access.changes.removeItems(rule.list, new Set([provider]));
  return access.changes.removeItems(entry.list, new Set([key]));
}

/** The old fields become the document that means the same, at the stage. */
function moveToDocument(
  access: Access,
  encryption: EncryptionRules,
  change: EncryptionChange,
  stage: RenderStage,
): Edit[] {
  const cluster = clusterOf(access);
  const [rule] = encryption.rules;
  if (cluster === undefined || rule === undefined) return [];
  const providers = rule.providers.flatMap((entry) => movedProvider(entry, change, stage));
  return [
    ...LEGACY_KEYS.flatMap(({ field }) => access.changes.removeField(cluster, field)),
    addDocument(access, 'KubeEtcdEncryptionConfig', {
      config: { resources: [{ resources: [...rule.resources], providers }] },
    }),
  ];
}

function movedProvider(entry: EncryptionProviderEntry, change: EncryptionChange, stage: RenderStage): Value[] {
  const [slot] = entry.keys;
  if (slot === undefined) return [{ [entry.name]: {} }];
  if (!sameName(slot.key, change.old)) return [providerValue(slot.key)];
  const order = wanted(change, stage);
  if (change.old.provider !== change.new.provider) return order.map(providerValue);
  return [{ [entry.name]: { keys: order.map(keyValue) } }];
}

function driftOf(
  encryption: EncryptionRules | undefined,
  change: EncryptionChange,
  stage: RenderStage,
): Omit<DriftItem, 'target'>[] {
  const name = (key: EncryptionKey, secretOf: EncryptionKey) =>
    `${label(key)}${key.secret.equals(secretOf.secret) ? '' : ' with another secret'}`;
  const expected = wanted(change, stage).map(label).join(', then ');
  const rules = encryption === undefined ? [] : concerned(encryption, change);
  if (rules.length === 0) {
    return [{ field: 'KubeEtcdEncryptionConfig', expected, found: 'neither the old nor the new key' }];
  }
  return rules.flatMap((rule) => {
    const found = slotsOf(rule)
      .flatMap(({ key }) => {
        if (sameName(key, change.old)) return [name(key, change.old)];
        return sameName(key, change.new) ? [name(key, change.new)] : [];
      })
      .join(', then ');
    return found === expected ? [] : [{ field: rule.path, expected, found }];
  });
}
