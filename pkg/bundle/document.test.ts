import { X509Certificate } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { aNewCa, bundleFixture } from '../../test/builders/bundle.ts';
import { createEncryptionKey, createServiceAccountKey } from '../pki/index.ts';
import { openBundle } from './document.ts';
import { exportFingerprint } from './fingerprint.ts';

const utf8 = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
const fixture = () => utf8(bundleFixture('secrets-v1.14.txt'));
const open = (text: string) => openBundle(new TextEncoder().encode(text), { path: 'secrets.yaml' });

/** The attribute `machine_secrets` with the material of the fixture. */
function machineSecrets() {
  const value = (field: string, nth = 0) => [...fixture().matchAll(new RegExp(`^ *${field}: (.*)$`, 'gm'))][nth]?.[1];
  return {
    certs: {
      etcd: { cert: value('crt', 0), key: value('key', 0) },
      k8s: { cert: value('crt', 1), key: value('key', 1) },
      k8s_aggregator: { cert: value('crt', 2), key: value('key', 2) },
      k8s_serviceaccount: { key: value('key', 3) },
      os: { cert: value('crt', 3), key: value('key', 4) },
    },
    cluster: { id: value('id'), secret: value('secret') },
    secrets: {
      aescbc_encryption_secret: null,
      bootstrap_token: value('bootstraptoken'),
      secretbox_encryption_secret: value('secretboxencryptionsecret'),
    },
    trustdinfo: { token: value('token') },
  };
}

describe('a bundle that talosctl gen secrets made', () => {
  it.each(['secrets-v1.9.txt', 'secrets-v1.14.txt'])('%s is read whole', async (name) => {
    const document = await openBundle(bundleFixture(name), { path: name });

    expect(document.format).toBe('talosctl');
    expect(document.encrypted).toBe(false);
    const { talos, kubernetes, etcd, aggregator, serviceAccount } = document.bundle;
    expect(talos.certificate.subject).toBe('O=talos');
    expect(kubernetes.certificate.subject).toBe('O=kubernetes');
    expect(etcd.certificate.subject).toBe('O=etcd');
    expect(aggregator.certificate.subject).toBe('');
    expect(serviceAccount.publicKey).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
  });

  it('gives the values that stand in the file', async () => {
    const { bundle } = await open(fixture());

    expect(bundle.clusterId).toBe('LVGlRsRUiRECiGjRn8MxaunnBWjMMyGyug/+nuKd+Tw=');
    expect(bundle.bootstrapToken.expose()).toBe('9dpklt.93koztc6l9osmhrr');
    expect(bundle.trustdToken.expose()).toBe('rlpjk1.o4g5jmwszqirbu24');
    expect(bundle.secretboxEncryptionSecret?.expose()).toBe('/RbybBD4H9abi4a1azpXeELx8SPAz6PZN0qYSaUY66A=');
    expect(bundle.aescbcEncryptionSecret).toBeUndefined();
    expect(new X509Certificate(bundle.talos.certificate.pem).subject).toBe('O=talos');
  });

  it('is written with not one byte changed', async () => {
    const bytes = bundleFixture('secrets-v1.14.txt');

    const document = await openBundle(bytes, { path: 'secrets.yaml' });

    expect(Buffer.from(await document.write()).equals(bytes)).toBe(true);
  });

  it.each([
    [
      'comments, a document start and unknown fields',
      (text: string) =>
        `# mine\n---\n${text.replace('cluster:\n', 'cluster: # here\n    owner: me\n')}extra: [1, 0x10, yes]\n`,
    ],
    ['CRLF line ends', (text: string) => text.replaceAll('\n', '\r\n')],
    ['a byte order mark', (text: string) => `\uFEFF${text}`],
    ['no final newline', (text: string) => text.trimEnd()],
    [
      'two spaces a level, another order and quotes, as talhelper and people write',
      (text: string) => text.replaceAll('    ', '  ').replace(/token: (\S+)/, 'token: "$1"'),
    ],
  ])('with %s is written with not one byte changed', async (_what, change) => {
    const text = change(fixture());

    expect(utf8(await (await open(text)).write())).toBe(text);
  });

  it('prints no secret, however it is looked at', async () => {
    const document = await open(fixture());
    const printed = [
      inspect(document, { depth: null, showHidden: true }),
      JSON.stringify(document),
      String(document.bundle.clusterSecret),
    ].join();

    for (const secret of [
      'LS0tLS1CRUdJTiBF',
      'PRIVATE KEY',
      '/v3bZH1afVg7YIJ5',
      '9dpklt.',
      'rlpjk1.',
      '/RbybBD4H9abi4a1',
    ]) {
      expect(printed).not.toContain(secret);
    }
  });
});

describe('the token of trustd', () => {
  it('may be any text: machines compare it and nothing more, and talosctl takes what people have chosen', async () => {
    const text = fixture().replace(/ {4}token: .*/, '    token: Correct-Horse_battery.staple');

    const { bundle } = await open(text);

    expect(bundle.trustdToken.expose()).toBe('Correct-Horse_battery.staple');
  });
});

describe('replacing', () => {
  it('changes the two values of a CA and nothing else', async () => {
    const etcd = await aNewCa('etcd');
    const text = `# keep me\n${fixture()}`;

    const replaced = (await open(text)).replace({ etcd });

    expect(replaced.bundle.etcd.certificate.fingerprint).toBe(etcd.certificate.fingerprint);
    const [before, after] = [text.split('\n'), utf8(await replaced.write()).split('\n')];
    const changed = after.flatMap((line, index) => (line === before[index] ? [] : [index + 1]));
    expect(after.length).toBe(before.length);
    expect(changed).toEqual([12, 13]);
    expect(after[11]).toBe(`        crt: ${Buffer.from(etcd.certificate.pem).toString('base64')}`);
  });

  it('replaces all four CAs at once and leaves cluster ID, secret and tokens as they are', async () => {
    const [talos, kubernetes, etcd, aggregator] = await Promise.all([
      aNewCa('talos'),
      aNewCa('kubernetes'),
      aNewCa('etcd'),
      aNewCa('kubernetes-aggregator'),
    ]);
    const document = await open(fixture());

    const replaced = document.replace({ talos, kubernetes, etcd, 'kubernetes-aggregator': aggregator });
    const { bundle } = await openBundle(await replaced.write(), { path: 'secrets.yaml' });

    expect(
      [bundle.talos, bundle.kubernetes, bundle.etcd, bundle.aggregator].map((ca) => ca.certificate.fingerprint),
    ).toEqual([talos, kubernetes, etcd, aggregator].map((ca) => ca.certificate.fingerprint));
    expect(bundle.talos.key.equals(talos.key)).toBe(true);
    expect(bundle.clusterId).toBe(document.bundle.clusterId);
    expect(bundle.clusterSecret.equals(document.bundle.clusterSecret)).toBe(true);
    expect(bundle.trustdToken.equals(document.bundle.trustdToken)).toBe(true);
  });

  it('keeps quotes, and puts a value where a block stood', async () => {
    const etcd = await aNewCa('etcd');
    const quoted = fixture().replace(
      /etcd:\n {8}crt: (\S+)\n {8}key: (\S+)/,
      (_all, crt: string, key: string) =>
        `etcd:\n        crt: '${crt}' # note\n        key: |\n          ${key.slice(0, 100)}\n          ${key.slice(100)}`,
    );

    const written = utf8(await (await open(quoted)).replace({ etcd }).write());

    expect(written).toContain(
      `crt: '${Buffer.from(etcd.certificate.pem).toString('base64')}' # note\n        key: ${Buffer.from(etcd.key.expose()).toString('base64')}\n    k8s:`,
    );
  });

  it('replaces the service-account key', async () => {
    const serviceAccount = await createServiceAccountKey({ algorithm: 'ecdsa-p256' });

    const replaced = (await open(fixture())).replace({ 'service-account': serviceAccount });

    expect(replaced.bundle.serviceAccount.fingerprint).toBe(serviceAccount.fingerprint);
  });

  it('replaces an encryption key of the same provider, and renames the field for the other provider', async () => {
    const secretbox = createEncryptionKey('secretbox', 'key3');
    const legacy = fixture().replace('secretboxencryptionsecret', 'aescbcencryptionsecret');

    const same = (await open(fixture())).replace({ 'etcd-encryption': secretbox });
    const other = (await open(legacy)).replace({ 'etcd-encryption': secretbox });

    expect(same.bundle.secretboxEncryptionSecret?.equals(secretbox.secret)).toBe(true);
    expect(other.bundle.secretboxEncryptionSecret?.equals(secretbox.secret)).toBe(true);
    expect(other.bundle.aescbcEncryptionSecret).toBeUndefined();
    expect(utf8(await other.write())).toContain(`    secretboxencryptionsecret: ${secretbox.secret.expose()}\n`);
  });

  it('leaves the key of the other provider where a bundle holds both', async () => {
    const both = fixture().replace(
      'secrets:\n',
      'secrets:\n    aescbcencryptionsecret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n',
    );
    const secretbox = createEncryptionKey('secretbox', 'key3');

    const { bundle } = (await open(both)).replace({ 'etcd-encryption': secretbox });

    expect(bundle.secretboxEncryptionSecret?.equals(secretbox.secret)).toBe(true);
    expect(bundle.aescbcEncryptionSecret?.expose()).toBe('AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=');
  });

  it('refuses material that equals the old, a key that does not fit, and a provider without a field', async () => {
    const document = await open(fixture());
    const [one, two] = await Promise.all([aNewCa('etcd'), aNewCa('etcd')]);

    expect(() => document.replace({ etcd: document.bundle.etcd })).toThrow(
      /the new etcd CA [0-9a-f]{64} equals the one that it replaces/,
    );
    expect(() => document.replace({ etcd: { certificate: one.certificate, key: two.key } })).toThrow(
      /secrets\.yaml: the key does not fit the certificate [0-9a-f]{64} \(O=etcd\)/,
    );
    expect(() => document.replace({ 'etcd-encryption': createEncryptionKey('aesgcm', 'key3') })).toThrow(
      'secrets.yaml: a bundle has no field for an encryption key of the provider aesgcm',
    );
    expect(() => document.replace({ 'service-account': document.bundle.serviceAccount })).toThrow(
      'secrets.yaml: the new service-account key equals the one that it replaces',
    );
  });
});

describe('the material of Terraform', () => {
  const state = () => ({
    version: 4,
    resources: [
      {
        type: 'talos_machine_secrets',
        instances: [{ attributes: { id: 'x', machine_secrets: machineSecrets(), talos_version: 'v1.14' } }],
      },
    ],
  });

  it.each([
    ['machine_secrets alone', () => machineSecrets()],
    [
      'terraform output -json',
      () => ({
        machine_secrets: { sensitive: true, type: ['object', { certs: ['object', {}] }], value: machineSecrets() },
      }),
    ],
    ['a state', state],
  ])('is read from %s', async (_what, make) => {
    const document = await open(JSON.stringify(make(), null, 2));

    expect(document.format).toBe('terraform');
    expect(document.bundle.etcd.certificate.subject).toBe('O=etcd');
    expect(document.bundle.clusterId).toBe('LVGlRsRUiRECiGjRn8MxaunnBWjMMyGyug/+nuKd+Tw=');
  });

  it('is replaced in place and stays JSON with everything else as it was', async () => {
    const kubernetes = await aNewCa('kubernetes');
    const text = `${JSON.stringify(state(), null, 2)}\n`;

    const written = utf8(await (await open(text)).replace({ kubernetes }).write());

    const expected = state();
    const attributes = expected.resources[0]?.instances[0]?.attributes;
    if (attributes === undefined) throw new Error('no attributes');
    attributes.machine_secrets.certs.k8s = {
      cert: Buffer.from(kubernetes.certificate.pem).toString('base64'),
      key: Buffer.from(kubernetes.key.expose()).toString('base64'),
    };
    expect(written).toBe(`${JSON.stringify(expected, null, 2)}\n`);
  });

  it('has the same fingerprints after Terraform renewed the client certificate that stands beside it', async () => {
    const withClient = (client: string) => ({
      machine_secrets: machineSecrets(),
      client_configuration: { client_certificate: client },
    });

    const before = await open(JSON.stringify(withClient('b2xk')));
    const after = await open(JSON.stringify(withClient('bmV3')));

    expect(exportFingerprint(after.bundle)).toBe(exportFingerprint(before.bundle));
    expect(utf8(await after.replace({ etcd: await aNewCa('etcd') }).write())).toContain('"client_certificate":"bmV3"');
  });

  it('is refused where two clusters stand in one file', async () => {
    const text = JSON.stringify([{ value: machineSecrets() }, { value: machineSecrets() }]);

    await expect(open(`{"outputs": ${text}}`)).rejects.toThrow(
      'secrets.yaml:1: outputs.1.value: a second bundle (the first is outputs.0.value); cut the file down to the one of the cluster',
    );
  });
});
