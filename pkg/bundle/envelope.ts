import type { Decrypter } from 'age-encryption';
import { Secret } from '../pki/index.ts';
import { type AgeHeader, decodeArmor, encodeArmor, readAgeHeader } from './age-file.ts';
import { BundleError } from './error.ts';

/** What opens a file encrypted with age, and for whom it is encrypted again. */
export interface AgeCredentials {
  readonly passphrase?: Secret<'passphrase'>;
  /** The text of an identity file: lines `AGE-SECRET-KEY-…`, comments allowed. */
  readonly identity?: Secret<'age-identity'>;
  /** Public keys `age1…`. Needed only where the file has more recipients than `identity` accounts for. */
  readonly recipients?: readonly string[];
  /** Base-2 logarithm of the work of a passphrase; 18 as the age command has it. */
  readonly scryptWorkFactor?: number;
}

/** Encrypts and opens files in one form, for one set of people. Holds the credentials; prints none. */
export interface Envelope {
  readonly armored: boolean;
  /** Whether a passphrase closes it, and nobody else's key. */
  readonly byPassphrase: boolean;
  /** Encrypts, opens the result again with the same credentials, and compares before it returns. */
  seal(plain: Uint8Array, path: string): Promise<Uint8Array>;
  /** Opens a file that is encrypted with age, in either form. */
  open(sealed: Uint8Array, path: string): Promise<Uint8Array>;
}

/** The names of stanzas that a passphrase, and that an identity, opens. */
const PASSPHRASE_STANZA = 'scrypt';
const IDENTITY_STANZAS = ['X25519', 'mlkem768x25519'];

/** True when the bytes are a file encrypted with age. */
export function isAgeEncrypted(bytes: Uint8Array, path: string): boolean {
  return readAgeHeader(bytes, path) !== undefined;
}

/** An envelope of the kind that `credentials` describe. Errors: neither a passphrase nor an identity nor a recipient. */
export function createEnvelope(credentials: AgeCredentials, options: { armored: boolean }): Envelope {
  return {
    armored: options.armored,
    byPassphrase: credentials.passphrase !== undefined,
    open: (sealed, path) => openFile(sealed, credentials, path),
    async seal(plain, path) {
      const binary = await sealFile(plain, credentials, path);
      const sealed = options.armored ? encodeArmor(binary) : binary;
      // Only who can open it may check it; a file for other people's recipients is taken on trust.
      if (credentials.passphrase !== undefined || credentials.identity !== undefined) {
        const opened = await openFile(sealed, credentials, path);
        if (!Buffer.from(opened).equals(plain)) {
          throw new BundleError(
            'mismatch',
            { path },
            'the encrypted form does not open to what was encrypted; nothing was written',
          );
        }
      }
      return sealed;
    },
  };
}

/**
 * Opens a file and returns, beside its content, the envelope that closes it again for the same people. An age file does
 * not say who its recipients are, only how many: with more than the identity accounts for, sealing is refused until
 * `recipients` names them all, so that nobody is locked out.
 */
export async function openEnvelope(
  sealed: Uint8Array,
  credentials: AgeCredentials,
  path: string,
): Promise<{ plain: Uint8Array; envelope: Envelope }> {
  const header = readAgeHeader(sealed, path);
  if (header === undefined) throw new BundleError('malformed', { path }, 'is not a file encrypted with age');
  const plain = await openFile(sealed, credentials, path);
  const owners = await ownersOf(header, credentials, sealed, path);
  const envelope = createEnvelope(owners, { armored: header.armored });
  return {
    plain,
    envelope: {
      ...envelope,
      async seal(content, target) {
        if (!envelope.byPassphrase) await checkRecipients(owners, header, path);
        return envelope.seal(content, target);
      },
    },
  };
}

/** Whether as many people are known as the file is encrypted for, and whoever opened it is one of them. */
async function checkRecipients(owners: AgeCredentials, header: AgeHeader, path: string): Promise<void> {
  const age = await import('age-encryption');
  const opening = await Promise.all(identitiesOf(owners).map((identity) => age.identityToRecipient(identity)));
  const named = new Set(owners.recipients ?? opening);
  const forgotten = opening.find((recipient) => !named.has(recipient));
  if (forgotten !== undefined) {
    throw new BundleError('unsupported', { path }, `is encrypted for ${forgotten}, which the recipients do not name`);
  }
  if (named.size === header.stanzas.length) return;
  throw new BundleError(
    'unsupported',
    { path },
    `is encrypted for ${header.stanzas.length} recipients and ${named.size < header.stanzas.length ? 'only ' : ''}${named.size} are known here; ` +
      'name every recipient (age1…), or the others could not open it any more',
  );
}

/**
 * Only what this file was closed with: a passphrase file is closed with the passphrase again, whatever else is known,
 * and an identity file may hold keys for other files, which are to open neither this one nor what is made of it.
 */
async function ownersOf(
  header: AgeHeader,
  credentials: AgeCredentials,
  sealed: Uint8Array,
  path: string,
): Promise<AgeCredentials> {
  const { passphrase, identity, ...others } = credentials;
  if (header.stanzas.includes(PASSPHRASE_STANZA)) {
    const { recipients: _unused, ...rest } = others;
    return passphrase === undefined ? rest : { ...rest, passphrase };
  }
  if (identity === undefined) return others;
  const identities = identitiesOf({ identity });
  if (identities.length === 1) return { ...others, identity };
  const opening: string[] = [];
  for (const each of identities) {
    const alone = Secret.of('age-identity', each);
    const isOwner = await openFile(sealed, { identity: alone }, path).then(
      () => true,
      () => false,
    );
    if (isOwner) opening.push(each);
  }
  return { ...others, identity: Secret.of('age-identity', opening.join('\n')) };
}

async function openFile(sealed: Uint8Array, credentials: AgeCredentials, path: string): Promise<Uint8Array> {
  const header = readAgeHeader(sealed, path);
  if (header === undefined) throw new BundleError('malformed', { path }, 'is not a file encrypted with age');
  const byPassphrase = header.stanzas.includes(PASSPHRASE_STANZA);
  const age = await import('age-encryption');
  const decrypter = new age.Decrypter();
  if (byPassphrase) {
    if (credentials.passphrase === undefined) {
      throw new BundleError('passphrase', { path }, 'is encrypted with a passphrase (age); give the passphrase');
    }
    decrypter.addPassphrase(credentials.passphrase.expose());
  } else {
    if (!header.stanzas.some((name) => IDENTITY_STANZAS.includes(name))) {
      throw new BundleError(
        'unsupported',
        { path },
        `is encrypted with age for ${header.stanzas.join(', ')}; only X25519 and hybrid identities (AGE-SECRET-KEY-…) and passphrases open it here`,
      );
    }
    const identities = identitiesOf(credentials);
    if (identities.length === 0) {
      throw new BundleError('identity', { path }, 'is encrypted for an age identity; give the identity file');
    }
    for (const identity of identities) addIdentity(decrypter, identity, path);
  }
  try {
    return await decrypter.decrypt(header.armored ? decodeArmor(sealed, path) : sealed);
  } catch (cause) {
    const problem = byPassphrase ? 'the passphrase does not open it' : 'none of the identities opens it';
    throw new BundleError('wrong-key', { path }, `${problem}, or the file is damaged (age says: ${messageOf(cause)})`);
  }
}

function addIdentity(decrypter: Decrypter, identity: string, path: string): void {
  try {
    decrypter.addIdentity(identity);
  } catch {
    // Not the library's message: it may quote the identity.
    throw new BundleError('unsupported', { path }, 'the age identity is not valid; expected lines AGE-SECRET-KEY-…');
  }
}

async function sealFile(plain: Uint8Array, credentials: AgeCredentials, path: string): Promise<Uint8Array> {
  // Loaded on first use: most bundles are plain, and a command should start fast.
  const age = await import('age-encryption');
  const encrypter = new age.Encrypter();
  if (credentials.passphrase !== undefined) {
    encrypter.setPassphrase(credentials.passphrase.expose());
    if (credentials.scryptWorkFactor !== undefined) encrypter.setScryptWorkFactor(credentials.scryptWorkFactor);
    return encrypter.encrypt(plain);
  }
  const recipients =
    credentials.recipients ??
    (await Promise.all(identitiesOf(credentials).map((identity) => age.identityToRecipient(identity))));
  if (recipients.length === 0) {
    throw new BundleError(
      'encrypted',
      { path },
      'is to be encrypted with age, but there is no passphrase, identity or recipient',
    );
  }
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch {
      throw new BundleError('recipient', { path }, `the age recipient ${recipient} is not valid; expected age1…`);
    }
  }
  return encrypter.encrypt(plain);
}

function identitiesOf(credentials: AgeCredentials): string[] {
  const lines = credentials.identity?.expose().split(/\r?\n/) ?? [];
  return [...new Set(lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#')))];
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
