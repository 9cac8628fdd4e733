/** What kind of thing is wrong with a bundle or a record; a caller may decide by it. */
export type BundleErrorKind =
  /** The file or a field that it needs is not there. */
  | 'missing'
  /** The text is not what the format says. */
  | 'malformed'
  /** Encrypted in a way that is not opened here, or where it must not be. */
  | 'encrypted'
  /** Encrypted with a passphrase, and none was given. */
  | 'passphrase'
  /** Encrypted for an age identity, and none was given. */
  | 'identity'
  /** Encrypted, and what was given does not open it. */
  | 'wrong-key'
  /** A key was masked (`******`) or is a reference for another tool to fill in. */
  | 'redacted'
  /** Two parts do not belong together: a key and its certificate, a record and its bundle. */
  | 'mismatch'
  /** Written by a newer version of this format. */
  | 'newer-version'
  /** New material that equals the old. */
  | 'unchanged'
  /** Somebody for whom a file was to be encrypted is no age recipient. */
  | 'recipient'
  /** Understood, and not done here. */
  | 'unsupported';

/** Where in a file something stands. */
export interface Place {
  /** The file, or a name that a person recognises. */
  readonly path: string;
  /** Counted from one. */
  readonly line?: number | undefined;
  /** Dotted, as the file writes it: `certs.k8s.key`. */
  readonly field?: string | undefined;
}

/** Anything wrong with a bundle or a record. The message names the file, the line and the field, and never holds a value of it. */
export class BundleError extends Error {
  override readonly name = 'BundleError';
  readonly kind: BundleErrorKind;
  readonly path: string;
  readonly line: number | undefined;
  readonly field: string | undefined;

  constructor(kind: BundleErrorKind, place: Place, problem: string) {
    const position = place.line === undefined ? place.path : `${place.path}:${place.line}`;
    super(`${position}: ${place.field === undefined ? '' : `${place.field}: `}${problem}`);
    this.kind = kind;
    this.path = place.path;
    this.line = place.line;
    this.field = place.field;
  }
}
