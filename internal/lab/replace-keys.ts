import { randomBytes } from 'node:crypto';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { type BundleDocument, bundleFromParts, caOf, type SecretsBundle } from '../../pkg/bundle/index.ts';
import { type Change, readMachineConfig, renderStage } from '../../pkg/machineconfig/index.ts';
import { Secret } from '../../pkg/pki/index.ts';
import { newBundle } from './blueprint.ts';
import { LabError } from './lab-error.ts';

/** A bundle and the configurations that belong to it. */
export interface Copy {
  readonly document: BundleDocument;
  readonly configurations: readonly string[];
}

/**
 * The same cluster with other secrets: every CA, key and token of the bundle is
 * new, in the configurations as well; what they hold besides stays as it is.
 * Errors: `refused` where a secret of the real cluster would stay in a configuration.
 */
export async function replaceKeys(
  { document, configurations }: Copy,
  options: { readonly now: number; readonly talosVersion: string },
): Promise<Copy> {
  const old = document.bundle;
  const next = await newSecrets(old, options.now);
  const { talosVersion } = options;
  const texts = replacedTexts(old, next);
  const changed = configurations.map((text) => {
    const written = texts.reduce((all, [from, to]) => all.replaceAll(from, to), text);
    const changes = changesOf(old, next).filter((change) => isIn(written, change));
    return renderStage(written, changes, 'Dropping', { talosVersion });
  });
  for (const text of changed) refuseRemains(old, text);
  return { document: bundleFromParts(next, { path: document.path }), configurations: changed };
}

async function newSecrets(old: SecretsBundle, now: number): Promise<SecretsBundle> {
  const { bundle } = await newBundle(now);
  const { secretboxEncryptionSecret: _new, ...fresh } = bundle;
  const key = (): Secret<'encryption-key'> => Secret.of('encryption-key', randomBytes(32).toString('base64'));
  return {
    ...fresh,
    ...(old.secretboxEncryptionSecret === undefined ? {} : { secretboxEncryptionSecret: key() }),
    ...(old.aescbcEncryptionSecret === undefined ? {} : { aescbcEncryptionSecret: key() }),
  };
}

function changesOf(old: SecretsBundle, next: SecretsBundle): Change[] {
  return [
    ...CA_TARGETS.map((target): Change => ({ target, old: caOf(old, target), new: caOf(next, target) })),
    { target: 'service-account', old: old.serviceAccount, new: next.serviceAccount },
  ];
}

/** Whether a configuration still has the old material: in a document of Talos 1.14, where it is a block of lines. */
function isIn(text: string, change: Change): boolean {
  const view = readMachineConfig(text, 'the copied configuration');
  if (change.target === 'service-account') return view.serviceAccount?.issuer === change.old.fingerprint;
  if (change.target === 'etcd-encryption') return false;
  const { fingerprint } = change.old.certificate;
  const { etcd, aggregator, talos, kubernetes } = view;
  const ca = { talos, kubernetes, 'kubernetes-aggregator': aggregator, etcd: undefined }[change.target];
  const held = [ca?.issuing ?? [], ca?.accepted ?? [], change.target === 'etcd' ? (etcd?.bundle ?? []) : []].flat();
  return held.some((certificate) => certificate.fingerprint === fingerprint);
}

/** Secrets that stand in a configuration as one word; long enough that they stand for nothing else. */
function replacedTexts(old: SecretsBundle, next: SecretsBundle): [string, string][] {
  const pem = (text: string): string => Buffer.from(text).toString('base64');
  const pairs: [string | undefined, string | undefined][] = [
    ...CA_TARGETS.flatMap((target): [string, string][] => [
      [pem(caOf(old, target).certificate.pem), pem(caOf(next, target).certificate.pem)],
      [pem(caOf(old, target).key.expose()), pem(caOf(next, target).key.expose())],
    ]),
    [pem(old.serviceAccount.privateKey.expose()), pem(next.serviceAccount.privateKey.expose())],
    [old.clusterId, next.clusterId],
    [old.clusterSecret.expose(), next.clusterSecret.expose()],
    [old.bootstrapToken.expose(), next.bootstrapToken.expose()],
    [old.trustdToken.expose(), next.trustdToken.expose()],
    [old.secretboxEncryptionSecret?.expose(), next.secretboxEncryptionSecret?.expose()],
    [old.aescbcEncryptionSecret?.expose(), next.aescbcEncryptionSecret?.expose()],
  ];
  return pairs.filter((pair): pair is [string, string] => pair[0] !== undefined && pair[1] !== undefined);
}

function refuseRemains(old: SecretsBundle, text: string): void {
  const keys = [...CA_TARGETS.map((target) => caOf(old, target).key), old.serviceAccount.privateKey];
  const remains = keys.some((key) => {
    const pem = key.expose();
    const body = pem.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
    return text.includes(Buffer.from(pem).toString('base64')) || body.some((line) => text.includes(line));
  });
  if (!remains) return;
  throw new LabError(
    'refused',
    'a private key of the real cluster would stay in a copied machine configuration; expected all of them to be replaced',
    'The configuration holds it outside of the fields of Talos, or in the middle of a rotation. Finish that first.',
  );
}
