import { isKubeError } from '../../pkg/kube/index.ts';
import { isTalosError } from '../../pkg/talos/index.ts';
import type { Reading, UnknownWhy } from '../rotation/observation.ts';

/** Runs a reading; a failure becomes an unknown with its reason, never an exception. */
export async function readingOf<T>(read: () => Promise<T>): Promise<Reading<T>> {
  try {
    return { known: true, value: await read() };
  } catch (error) {
    return { known: false, why: whyOf(error), message: messageOf(error) };
  }
}

function whyOf(error: unknown): UnknownWhy {
  if (isTalosError(error, 'maintenance')) return 'maintenance';
  if (isTalosError(error, 'untrusted-client', 'untrusted-server')) return 'untrusted';
  if (isKubeError(error, 'untrusted-client', 'untrusted-server', 'unauthorized')) return 'untrusted';
  if (isTalosError(error, 'unreachable', 'timeout', 'interrupted')) return 'unreachable';
  if (isKubeError(error, 'unreachable', 'timeout')) return 'unreachable';
  return 'failed';
}

/** The text of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
