import { type CaTarget, type CertificateAndKey, Secret, type ServiceAccountKey } from '../pki/index.ts';
import type { SecretsBundle } from './bundle.ts';
import { BundleError } from './error.ts';
import type { BundlePlace, FieldPath } from './layout.ts';
import { readCa, readServiceAccountKey } from './material.ts';
import { maskedValue, type Value } from './source.ts';
import { decodeBase64, optionalValue, requiredValue } from './values.ts';

/** Kubernetes' bootstrap tokens: `abcdef.0123456789abcdef`. Talos makes trustd's alike, and takes any text for it. */
const TOKEN = /^[0-9a-z]{6}\.[0-9a-z]{16}$/;

/** Reads and checks every value of a bundle. Errors: {@link BundleError} at the first value that is not right. */
export function readBundle(place: BundlePlace): SecretsBundle {
  const { layout } = place;
  const ca = (target: CaTarget) => readBundleCa(place, target);
  const secretbox = encryptionSecret(place, layout.secretbox);
  const aescbc = encryptionSecret(place, layout.aescbc);
  const clusterId = requiredValue(place, layout.clusterId).text;
  const clusterSecret = readClusterSecret(place);
  const bootstrapToken = readBootstrapToken(place);
  const trustdToken = Secret.of('token', requiredValue(place, layout.trustdToken).text);
  if (secretbox === undefined && aescbc === undefined) requiredValue(place, layout.secretbox);
  return {
    clusterId,
    clusterSecret,
    bootstrapToken,
    trustdToken,
    ...(secretbox === undefined ? {} : { secretboxEncryptionSecret: secretbox }),
    ...(aescbc === undefined ? {} : { aescbcEncryptionSecret: aescbc }),
    talos: ca('talos'),
    kubernetes: ca('kubernetes'),
    etcd: ca('etcd'),
    aggregator: ca('kubernetes-aggregator'),
    serviceAccount: readBundleServiceAccount(place),
  };
}

function readClusterSecret(place: BundlePlace): Secret<'cluster-secret'> {
  const value = requiredValue(place, place.layout.clusterSecret);
  const { length } = decodeBase64(value.text, failAt(place, value));
  if (length !== 32) throw failAt(place, value)(`is base64 of ${length} bytes; expected 32`);
  return Secret.of('cluster-secret', value.text);
}

function readBootstrapToken(place: BundlePlace): Secret<'token'> {
  const value = requiredValue(place, place.layout.bootstrapToken);
  if (!TOKEN.test(value.text)) {
    throw failAt(place, value)('is no token; expected 6 and 16 lower-case letters and digits with a dot between');
  }
  return Secret.of('token', value.text);
}

function encryptionSecret(place: BundlePlace, field: FieldPath): Secret<'encryption-key'> | undefined {
  const value = optionalValue(place, field);
  if (value === undefined) return undefined;
  const { length } = decodeBase64(value.text, failAt(place, value));
  // secretbox takes 32 bytes; aescbc 16, 24 or 32 (kube-apiserver's encryption configuration).
  if (![16, 24, 32].includes(length)) throw failAt(place, value)(`is base64 of ${length} bytes; expected 32`);
  return Secret.of('encryption-key', value.text);
}

function readBundleCa(place: BundlePlace, target: CaTarget): CertificateAndKey {
  const fields = place.layout.cas[target];
  const certificate = pemValue(place, fields.certificate);
  const key = pemValue(place, fields.key);
  return readCa({
    certificate: { pem: certificate.pem, at: atOf(place, certificate.value) },
    key: { pem: key.pem, at: atOf(place, key.value) },
  });
}

function readBundleServiceAccount(place: BundlePlace): ServiceAccountKey {
  const { value, pem } = pemValue(place, place.layout.serviceAccountKey);
  return readServiceAccountKey({ pem, at: atOf(place, value) });
}

function pemValue(place: BundlePlace, field: FieldPath): { value: Value; pem: string } {
  const value = requiredValue(place, field);
  const fail = failAt(place, value);
  if (value.text.startsWith('-----BEGIN')) throw fail('is PEM as it stands; expected base64 of PEM');
  const pem = decodeBase64(value.text, fail).toString('utf8');
  if (/^\*+$/.test(pem.trim())) throw maskedValue(atOf(place, value));
  if (!pem.includes('-----BEGIN')) throw fail('is base64, but not of PEM');
  return { value, pem };
}

function atOf(place: BundlePlace, value: Value) {
  return { path: place.source.path, line: value.line, field: value.field };
}

function failAt(place: BundlePlace, value: Value): (problem: string) => BundleError {
  return (problem) => new BundleError('malformed', atOf(place, value), problem);
}
