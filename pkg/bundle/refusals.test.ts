import { describe, expect, it } from 'vitest';
import { aNewCa, bundleFixture } from '../../test/builders/bundle.ts';
import { openBundle } from './document.ts';
import type { BundleError } from './error.ts';

const fixture = () => bundleFixture('secrets-v1.14.txt').toString();
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** What opening `text` says. */
async function refusal(text: string | Uint8Array): Promise<{ kind: string; message: string }> {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  const error = await openBundle(bytes, { path: 'secrets.yaml' }).then(
    () => new Error('opened'),
    (cause: BundleError) => cause,
  );
  return { kind: 'kind' in error ? error.kind : 'none', message: error.message };
}

describe('a bundle is refused, with file, line and field', () => {
  it.each([
    [
      'an empty file',
      () => '',
      'missing',
      'secrets.yaml: is empty. Restore the file: secrets are never made anew for a cluster that exists',
    ],
    ['a file of comments', () => '# nothing\n', 'malformed', 'secrets.yaml:1: is not a mapping of fields to values'],
    ['a list', () => '- a\n', 'malformed', 'secrets.yaml:1: is not a mapping of fields to values'],
    [
      'bytes that are no text',
      () => Uint8Array.of(0x63, 0xff, 0xfe, 0x00),
      'malformed',
      'secrets.yaml: is not UTF-8 text, and not a file encrypted with age either',
    ],
    [
      'a key cut out',
      () => fixture().replace(/ {4}os:\n.*\n.*\n/, ''),
      'missing',
      'secrets.yaml:10: certs.os.crt: is missing or empty. Restore it: secrets are never made anew for a cluster that exists',
    ],
    [
      'a truncated file',
      () => fixture().slice(0, 3000),
      'missing',
      'secrets.yaml:10: certs.os.crt: is missing or empty. Restore it: secrets are never made anew for a cluster that exists',
    ],
    [
      'an empty value',
      () => fixture().replace(/ {4}token: .*/, '    token:'),
      'missing',
      'secrets.yaml:8: trustdinfo.token: is missing or empty. Restore it: secrets are never made anew for a cluster that exists',
    ],
    [
      'a null',
      () => fixture().replace(/ {4}token: .*/, '    token: null'),
      'missing',
      'secrets.yaml:8: trustdinfo.token: is missing or empty. Restore it: secrets are never made anew for a cluster that exists',
    ],
    [
      'no encryption key at all',
      () => fixture().replace(/ {4}secretbox.*\n/, ''),
      'missing',
      'secrets.yaml:5: secrets.secretboxencryptionsecret: is missing or empty. Restore it: secrets are never made anew for a cluster that exists',
    ],
    [
      'a short encryption key',
      () => fixture().replace(/secretboxencryptionsecret: .*/, 'secretboxencryptionsecret: AAAA'),
      'malformed',
      'secrets.yaml:6: secrets.secretboxencryptionsecret: is base64 of 3 bytes; expected 32',
    ],
    [
      'a short cluster secret',
      () => fixture().replace(/ {4}secret: .*/, '    secret: AAAA'),
      'malformed',
      'secrets.yaml:3: cluster.secret: is base64 of 3 bytes; expected 32',
    ],
    [
      'a bad bootstrap token, which Kubernetes would not take',
      () => fixture().replace('9dpklt.', '9DPKLT.'),
      'malformed',
      'secrets.yaml:5: secrets.bootstraptoken: is no token; expected 6 and 16 lower-case letters and digits with a dot between',
    ],
    [
      'a key that is not base64',
      () => fixture().replace(/( {4}os:\n.*\n {8}key: ).*/, '$1a%b'),
      'malformed',
      'secrets.yaml:23: certs.os.key: is not base64',
    ],
    [
      'PEM where base64 belongs',
      () => fixture().replace(/( {4}os:\n.*\n {8}key: ).*/, '$1"-----BEGIN ED25519 PRIVATE KEY-----"'),
      'malformed',
      'secrets.yaml:23: certs.os.key: is PEM as it stands; expected base64 of PEM',
    ],
    [
      'a masked key',
      () => fixture().replace(/( {4}os:\n.*\n {8}key: ).*/, "$1'******'"),
      'redacted',
      'secrets.yaml:23: certs.os.key: is masked (******), so nothing can be signed with this file; use the original',
    ],
    [
      'a masked key without quotes',
      () => fixture().replace(/( {4}os:\n.*\n {8}key: ).*/, '$1******'),
      'redacted',
      'secrets.yaml:23: is masked (******), so nothing can be signed with this file; use the original',
    ],
    [
      'a masked key in base64',
      () => fixture().replace(/( {4}os:\n.*\n {8}key: ).*/, `$1${base64('******')}`),
      'redacted',
      'secrets.yaml:23: certs.os.key: is masked (******), so nothing can be signed with this file; use the original',
    ],
    [
      'a reference of vals',
      () => fixture().replace(/ {4}token: .*/, '    token: ref+op://home/talos/token'),
      'redacted',
      'secrets.yaml:8: trustdinfo.token: is a reference for another tool to fill in, not the value; resolve it first',
    ],
    [
      'a duplicate key',
      () => fixture().replace('trustdinfo:', 'cluster:\n    id: x\ntrustdinfo:'),
      'malformed',
      'secrets.yaml:7: is not valid YAML (duplicate key)',
    ],
    [
      'a second document',
      () => `${fixture()}---\na: b\n`,
      'malformed',
      'secrets.yaml:24: a second YAML document begins; expected one document',
    ],
    [
      'an anchor',
      () => fixture().replace('    etcd:', '    etcd: &x'),
      'unsupported',
      'secrets.yaml:11: YAML anchors and aliases are not read here; write the value out',
    ],
    [
      'a tag',
      () => fixture().replace('token: rlp', 'token: !!str rlp'),
      'unsupported',
      'secrets.yaml:8: YAML tags are not read here; write the plain value',
    ],
    [
      'a list for a value',
      () => fixture().replace(/ {4}token: .*/, '    token: [a]'),
      'malformed',
      'secrets.yaml:8: trustdinfo.token: is a list or a mapping; expected a text',
    ],
    [
      'a machine configuration',
      () => 'version: v1alpha1\nmachine:\n  type: controlplane\ncluster:\n  id: x\n',
      'malformed',
      'secrets.yaml:1: is a machine configuration; expected secrets.yaml as talosctl gen secrets makes it (cluster, secrets, trustdinfo, certs), or machine_secrets of Terraform. ichor cluster import takes the bundle out of it',
    ],
    [
      'a talosconfig',
      () => 'context: a\ncontexts: {}\n',
      'malformed',
      'secrets.yaml:1: is a talosconfig; expected secrets.yaml as talosctl gen secrets makes it (cluster, secrets, trustdinfo, certs), or machine_secrets of Terraform',
    ],
  ])('%s', async (_what, make, kind, message) => {
    const found = await refusal(make());

    expect(found.kind).toBe(kind);
    expect(found.message.slice(0, message.length)).toBe(message);
  });

  it('a key that belongs to another certificate', async () => {
    const stranger = await aNewCa('talos');
    const text = fixture().replace(/( {4}os:\n.*\n {8}key: ).*/, `$1${base64(stranger.key.expose())}`);

    const { kind, message } = await refusal(text);

    expect(kind).toBe('mismatch');
    expect(message).toMatch(
      /^secrets\.yaml:23: certs\.os\.key: the key does not fit the certificate [0-9a-f]{64} \(O=talos\)$/,
    );
  });

  it('two certificates where one belongs, as a bundle has it that was extracted in the middle of a rotation', async () => {
    const stranger = await aNewCa('etcd');
    const old = /etcd:\n {8}crt: (.*)/.exec(fixture())?.[1] ?? '';
    const both = base64(Buffer.from(old, 'base64').toString() + stranger.certificate.pem);

    const { message } = await refusal(fixture().replace(old, both));

    expect(message).toBe('secrets.yaml:11: certs.etcd.crt: expected exactly one certificate, found 2');
  });

  it('a SOPS file, with the command that makes it usable', async () => {
    const text =
      'cluster:\n    id: ENC[AES256_GCM,data:abc=,iv:def=,tag:ghi=,type:str]\nsops:\n    mac: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]\n    version: 3.9.0\n';

    const { kind, message } = await refusal(text);

    expect(kind).toBe('encrypted');
    expect(message).toContain('secrets.yaml: is encrypted with SOPS, which is not opened here.');
    expect(message).toContain('sops --decrypt secrets.yaml | age --encrypt --armor --recipient age1… > secrets.yaml');
  });

  it('quickly and without a broken stack where the text nests 100,000 levels', async () => {
    const start = process.cpuUsage();

    const { kind } = await refusal('['.repeat(100_000));
    const mappings = await refusal(Array.from({ length: 3000 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join(''));

    expect(kind).toBe('malformed');
    expect(mappings.kind).toBe('malformed');
    // Processor time: what else the machine does is no fault of ours.
    const { user, system } = process.cpuUsage(start);
    expect(user + system).toBeLessThan(5_000_000);
  });

  it('without a word of the secret that stands on the line', async () => {
    const key = /os:\n.*\n {8}key: (.*)/.exec(fixture())?.[1] ?? '';

    for (const damage of [`${key}:  x`, `"${key}`, key.slice(0, -7), `${key}%`]) {
      const { message } = await refusal(fixture().replace(key, damage));

      expect(message).not.toContain(key.slice(0, 12));
      expect(message).toMatch(/^secrets\.yaml:2[34]: /);
    }
  });
});
