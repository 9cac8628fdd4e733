import { generateIdentity, identityToRecipient } from 'age-encryption';
import { describe, expect, it } from 'vitest';
import { aNewCa, bundleFixture } from '../../test/builders/bundle.ts';
import { Secret } from '../pki/index.ts';
import { openBundle } from './document.ts';
import { createEnvelope, isAgeEncrypted, openEnvelope } from './envelope.ts';

const path = 'secrets.yaml';
const identity = Secret.of('age-identity', bundleFixture('identity.txt').toString());
const passphrase = Secret.of('passphrase', 'correct horse battery staple');
const bytes = (text: string) => new TextEncoder().encode(text);

describe('a bundle that the age command encrypted', () => {
  it.each(['secrets-identity.age', 'secrets-identity-armored.age'])('%s opens with the identity file', async (name) => {
    const document = await openBundle(bundleFixture(name), { path, identity });

    expect(document.encrypted).toBe(true);
    expect(document.bundle.clusterId).toBe('LVGlRsRUiRECiGjRn8MxaunnBWjMMyGyug/+nuKd+Tw=');
    expect(Buffer.from(await document.write()).equals(bundleFixture(name))).toBe(true);
  });

  it('opens with the passphrase', async () => {
    const document = await openBundle(bundleFixture('secrets-passphrase.age'), { path, passphrase });

    expect(document.bundle.clusterId).toBe('LVGlRsRUiRECiGjRn8MxaunnBWjMMyGyug/+nuKd+Tw=');
  });

  it.each([
    ['secrets-identity.age', {}, 'identity', 'secrets.yaml: is encrypted for an age identity; give the identity file'],
    [
      'secrets-passphrase.age',
      {},
      'passphrase',
      'secrets.yaml: is encrypted with a passphrase (age); give the passphrase',
    ],
    [
      'secrets-identity.age',
      { passphrase },
      'identity',
      'secrets.yaml: is encrypted for an age identity; give the identity file',
    ],
    [
      'secrets-passphrase.age',
      { identity },
      'passphrase',
      'secrets.yaml: is encrypted with a passphrase (age); give the passphrase',
    ],
    [
      'secrets-identity.age',
      { identity: Secret.of('age-identity', 'AGE-SECRET-KEY-1NONSENSE') },
      'unsupported',
      'secrets.yaml: the age identity is not valid; expected lines AGE-SECRET-KEY-…',
    ],
  ])('%s with %o is refused and says what to give', async (name, credentials, kind, message) => {
    await expect(openBundle(bundleFixture(name), { path, ...credentials })).rejects.toMatchObject({ kind, message });
  });

  it('is refused with another identity, and when a byte was changed', async () => {
    const other = Secret.of('age-identity', await generateIdentity());
    const damaged = Buffer.from(bundleFixture('secrets-identity.age'));
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;

    await expect(openBundle(bundleFixture('secrets-identity.age'), { path, identity: other })).rejects.toMatchObject({
      kind: 'wrong-key',
    });
    await expect(openBundle(damaged, { path, identity })).rejects.toMatchObject({ kind: 'wrong-key' });
  });

  it('is refused when it is cut off', async () => {
    const armored = bundleFixture('secrets-identity-armored.age');

    await expect(openBundle(armored.subarray(0, 5000), { path, identity })).rejects.toThrow(
      'secrets.yaml: is encrypted with age in its text form, but that is cut off or damaged',
    );
    await expect(openBundle(bundleFixture('secrets-identity.age').subarray(0, 60), { path, identity })).rejects.toThrow(
      'secrets.yaml: is encrypted with age, but its header is cut off',
    );
  });
});

describe('a replacement in an encrypted bundle', () => {
  it.each([
    ['secrets-identity.age', 'age-encryption.org/v1\n'],
    ['secrets-identity-armored.age', '-----BEGIN AGE ENCRYPTED FILE-----\n'],
  ])('keeps %s encrypted in its own form', async (name, start) => {
    const etcd = await aNewCa('etcd');
    const document = await openBundle(bundleFixture(name), { path, identity });

    const written = await document.replace({ etcd }).write();

    expect(Buffer.from(written).toString('latin1').startsWith(start)).toBe(true);
    const again = await openBundle(written, { path, identity });
    expect(again.bundle.etcd.certificate.fingerprint).toBe(etcd.certificate.fingerprint);
  });

  it('keeps a passphrase file under its passphrase, even when an identity is known too', async () => {
    const envelope = createEnvelope({ passphrase, scryptWorkFactor: 8 }, { armored: true });
    const sealed = await envelope.seal(bundleFixture('secrets-v1.14.txt'), path);
    const document = await openBundle(sealed, { path, passphrase, identity, scryptWorkFactor: 8 });

    const written = await document.replace({ etcd: await aNewCa('etcd') }).write();

    expect((await openBundle(written, { path, passphrase })).encrypted).toBe(true);
  });

  it('is refused where others could not open the file any more, until all recipients are named', async () => {
    const document = await openBundle(bundleFixture('secrets-two-recipients.age'), { path, identity });
    const other = await generateIdentity();
    const recipients = await Promise.all(
      [
        identity
          .expose()
          .split('\n')
          .find((line) => line.startsWith('AGE')) ?? '',
        other,
      ].map(identityToRecipient),
    );
    const complete = await openBundle(bundleFixture('secrets-two-recipients.age'), { path, identity, recipients });
    const etcd = await aNewCa('etcd');

    await expect(document.replace({ etcd }).write()).rejects.toThrow(
      'secrets.yaml: is encrypted for 2 recipients and only 1 are known here; name every recipient (age1…), or the others could not open it any more',
    );
    const written = await complete.replace({ etcd }).write();
    expect((await openBundle(written, { path, identity: Secret.of('age-identity', other) })).encrypted).toBe(true);
  });

  it('is closed for those of an identity file alone who could open it', async () => {
    const [mine, foreign, colleague] = [await generateIdentity(), await generateIdentity(), await generateIdentity()];
    const both = Secret.of('age-identity', `# mine\n${mine}\n# of another project\n${foreign}\n`);
    const sealedFor = async (...people: string[]) => {
      const recipients = await Promise.all(people.map((each) => identityToRecipient(each)));
      return createEnvelope({ recipients }, { armored: false }).seal(bytes('old keys'), path);
    };
    const opens = async (sealed: Uint8Array, each: string) =>
      openEnvelope(sealed, { identity: Secret.of('age-identity', each) }, path).then(
        () => true,
        () => false,
      );

    const { envelope } = await openEnvelope(await sealedFor(mine), { identity: both }, path);
    const closed = await envelope.seal(bytes('new keys'), path);
    const shared = await openEnvelope(await sealedFor(mine, colleague), { identity: both }, path);

    expect([await opens(closed, mine), await opens(closed, foreign)]).toEqual([true, false]);
    await expect(shared.envelope.seal(bytes('new keys'), path)).rejects.toThrow(
      'is encrypted for 2 recipients and only 1 are known here',
    );
  });

  it('is refused for people who are named twice, too many, or without one who opens it', async () => {
    const [mine, second, stranger] = [await generateIdentity(), await generateIdentity(), await generateIdentity()];
    const [me, too, other] = await Promise.all([mine, second, stranger].map((each) => identityToRecipient(each)));
    const people = [me ?? '', too ?? ''];
    const sealed = await createEnvelope({ recipients: people }, { armored: false }).seal(bytes('old keys'), path);
    const closing = async (recipients: readonly string[]) => {
      const both = Secret.of('age-identity', `${mine}\n${second}`);
      const { envelope } = await openEnvelope(sealed, { identity: both, recipients }, path);
      return envelope.seal(bytes('new keys'), path);
    };

    await expect(closing([me ?? '', me ?? ''])).rejects.toThrow(`is encrypted for ${too}, which the recipients do not`);
    await expect(closing([me ?? '', other ?? ''])).rejects.toThrow(`is encrypted for ${too}, which the recipients do`);
    await expect(closing([...people, other ?? ''])).rejects.toThrow('for 2 recipients and 3 are known here');
    expect(isAgeEncrypted(await closing(people.toReversed()), path)).toBe(true);
  });

  it('is closed again for everybody whose identities are in one file', async () => {
    const people = [await generateIdentity(), await generateIdentity()];
    const recipients = await Promise.all(people.map((each) => identityToRecipient(each)));
    const sealed = await createEnvelope({ recipients }, { armored: false }).seal(bytes('old keys'), path);
    const { envelope } = await openEnvelope(sealed, { identity: Secret.of('age-identity', people.join('\n')) }, path);

    const closed = await envelope.seal(bytes('new keys'), path);

    for (const each of people) {
      const opened = await openEnvelope(closed, { identity: Secret.of('age-identity', each) }, path);
      expect(Buffer.from(opened.plain).toString()).toBe('new keys');
    }
  });

  it('is refused where the named recipients would lock out the one who writes', async () => {
    const recipients = [await identityToRecipient(await generateIdentity())];
    const document = await openBundle(bundleFixture('secrets-identity.age'), { path, identity, recipients });

    await expect(document.replace({ etcd: await aNewCa('etcd') }).write()).rejects.toMatchObject({
      kind: 'unsupported',
    });
  });
});

describe('a file beside a bundle', () => {
  it('is encrypted when the bundle is, and plain when the bundle is', async () => {
    const sealed = await openBundle(bundleFixture('secrets-identity.age'), { path, identity });
    const plain = await openBundle(bundleFixture('secrets-v1.14.txt'), { path });

    const record = await sealed.seal(bytes('version: 1\n'), 'rotation.yaml');

    expect(isAgeEncrypted(record, 'rotation.yaml')).toBe(true);
    expect(Buffer.from(await sealed.unseal(record, 'rotation.yaml')).toString()).toBe('version: 1\n');
    expect(Buffer.from(await plain.seal(bytes('version: 1\n'), 'rotation.yaml')).toString()).toBe('version: 1\n');
    await expect(sealed.unseal(bytes('version: 1\n'), 'rotation.yaml')).rejects.toThrow(
      'rotation.yaml: is not encrypted although secrets.yaml is; who wrote it? Encrypt it or remove it',
    );
    await expect(plain.unseal(record, 'rotation.yaml')).rejects.toThrow(
      'rotation.yaml: is encrypted with age although secrets.yaml is not',
    );
  });
});

describe('an envelope', () => {
  it('needs somebody to encrypt for', async () => {
    await expect(createEnvelope({}, { armored: false }).seal(bytes('x'), 'old.age')).rejects.toThrow(
      'old.age: is to be encrypted with age, but there is no passphrase, identity or recipient',
    );
    await expect(
      createEnvelope({ recipients: ['age1nonsense'] }, { armored: false }).seal(bytes('x'), 'old.age'),
    ).rejects.toThrow('old.age: the age recipient age1nonsense is not valid; expected age1…');
  });

  it('closes for a recipient whose identity is not here', async () => {
    const other = await generateIdentity();
    const envelope = createEnvelope({ recipients: [await identityToRecipient(other)] }, { armored: true });

    const sealed = await envelope.seal(bytes('old bundle'), 'old.age');

    const opened = await openEnvelope(sealed, { identity: Secret.of('age-identity', other) }, 'old.age');
    expect(Buffer.from(opened.plain).toString()).toBe('old bundle');
  });
});
