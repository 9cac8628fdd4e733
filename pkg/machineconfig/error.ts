/**
 * Why a machine configuration was refused.
 *
 * The text itself: `not-utf8`, `not-yaml`, `too-large`, `nesting`, `aliases`,
 * `duplicate-key`, `duplicate-document`, `not-a-machine-configuration`.
 * One field: `bad-value`, `indirect-value` (an alias, a merge key or a tag where
 * a certificate or key belongs), `missing-value`.
 * The whole: `two-homes` (one field in both shapes), `half-migrated` (a
 * combination that Talos or Kubernetes does not survive), `worker-holds-key`,
 * `trusts-nothing`.
 * A request: `foreign-edit` (the fields match no stage of the change),
 * `needs-newer-talos`, `bad-change`.
 */
export type MachineConfigErrorKind =
  | 'not-utf8'
  | 'not-yaml'
  | 'too-large'
  | 'nesting'
  | 'aliases'
  | 'duplicate-key'
  | 'duplicate-document'
  | 'not-a-machine-configuration'
  | 'bad-value'
  | 'indirect-value'
  | 'missing-value'
  | 'two-homes'
  | 'half-migrated'
  | 'worker-holds-key'
  | 'trusts-nothing'
  | 'foreign-edit'
  | 'needs-newer-talos'
  | 'bad-change';

/** Where in a configuration something is. */
export interface Place {
  /** The machine or file, as the caller named it. */
  readonly where?: string | undefined;
  /** 1-based. */
  readonly line?: number | undefined;
  /** Such as `machine.ca.crt` or `KubeAPIServerCAConfig.acceptedCAs[1]`. */
  readonly field?: string | undefined;
}

/** A machine configuration that cannot be read or may not be rendered; never holds key bytes. */
export class MachineConfigError extends Error {
  readonly kind: MachineConfigErrorKind;
  readonly where: string | undefined;
  readonly line: number | undefined;
  readonly field: string | undefined;

  constructor(kind: MachineConfigErrorKind, message: string, place: Place & { readonly cause?: unknown } = {}) {
    const line = place.line === undefined ? undefined : `line ${place.line}`;
    const parts = [place.where ?? 'machine configuration', line, place.field].filter((part) => part !== undefined);
    super(`${parts.join(', ')}: ${message}`, place.cause === undefined ? undefined : { cause: place.cause });
    this.name = 'MachineConfigError';
    this.kind = kind;
    this.where = place.where;
    this.line = place.line;
    this.field = place.field;
  }
}
