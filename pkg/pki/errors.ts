/** What kind of thing was wrong; `invalid-pem` is about text, the others about what the text says. */
export type PkiErrorKind =
  | 'invalid-pem'
  | 'invalid-certificate'
  | 'invalid-key'
  | 'invalid-pkcs12'
  | 'refused'
  | 'unsupported';

/** Where and what, for a {@link PkiError}. */
export interface PkiErrorDetails {
  /** The file or field that was being read, such as `secrets.yaml: certs.os.crt`. */
  readonly where?: string | undefined;
  /** 1-based line within that text. */
  readonly line?: number | undefined;
  readonly cause?: unknown;
}

/**
 * The one error of this package. Its message names the place, the line, what was
 * found and what was expected, and never holds key bytes.
 */
export class PkiError extends Error {
  override readonly name = 'PkiError';
  readonly kind: PkiErrorKind;
  readonly where: string | undefined;
  readonly line: number | undefined;

  constructor(kind: PkiErrorKind, message: string, details: PkiErrorDetails = {}) {
    const place = [details.where, details.line === undefined ? undefined : `line ${details.line}`]
      .filter((part) => part !== undefined)
      .join(', ');
    super(place === '' ? message : `${place}: ${message}`, details.cause === undefined ? {} : { cause: details.cause });
    this.kind = kind;
    this.where = details.where;
    this.line = details.line;
  }
}
