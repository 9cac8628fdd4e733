import { MachineConfigError } from './error.ts';

/** The part of a Talos version that decides what a machine understands. */
export interface TalosVersion {
  readonly major: number;
  readonly minor: number;
  /** As it was given, for messages. */
  readonly text: string;
}

/**
 * Reads `v1.14.1`, `1.13`, `v1.15.0-alpha.0` and the like.
 *
 * @param where the machine or file, for the error.
 * @throws {MachineConfigError} `bad-change` for anything else.
 */
export function parseTalosVersion(text: string, where?: string): TalosVersion {
  const match = /^v?(\d+)\.(\d+)(?:[.+-].*)?$/.exec(text);
  if (match === null) {
    throw new MachineConfigError('bad-change', `"${text}" is no Talos version; expected one like v1.14.1`, { where });
  }
  return { major: Number(match[1]), minor: Number(match[2]), text };
}

/**
 * Whether the machine knows the typed Kubernetes documents, and with them accepted
 * lists for the aggregator CA and for service-account keys, and more than one
 * encryption key (Talos 1.14; an older one refuses the kinds as "not registered").
 */
export function knowsTypedDocuments({ major, minor }: TalosVersion): boolean {
  return major > 1 || (major === 1 && minor >= 14);
}
