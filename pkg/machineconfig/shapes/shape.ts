import type { ParsedNode } from 'yaml';
import type { Access } from '../access.ts';
import type { ScalarField } from '../material.ts';
import type { Value } from '../yaml/emit.ts';

/**
 * How a document writes PEM. The old document has base64 of PEM and wraps list
 * items in a mapping; the typed documents of Talos 1.14 have the text itself
 * (siderolabs/crypto x509 and talos `config/types/meta`, `config/types/k8s`).
 */
export interface Shape {
  readonly name: 'legacy' | 'typed';
  /** The field of an issuing CA that holds its certificate. */
  readonly certificateKey: 'crt' | 'cert';
  /** PEM text of a field. */
  read(access: Access, field: ScalarField): string;
  /** PEM text as the text of a scalar. */
  write(pem: string): string;
  /** An item of a list of accepted certificates. */
  item(pem: string): Value;
  /** The scalar inside such an item. */
  itemField(access: Access, item: ParsedNode | null, path: string): ScalarField;
}
