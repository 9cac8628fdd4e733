import type { TalosErrorKind } from '../../../pkg/talos/index.ts';
import { Refusal } from '../../simulator/index.ts';
import type { Boot } from './boot.ts';
import { CODE, GrpcError } from './grpc.ts';

/** What a call is answered from: the boot that it arrived in, and who made it. */
export interface Session {
  readonly boot: Boot;
  /** Of the client certificate, or those that an apid in between passes on. */
  readonly roles: readonly string[];
}

const CODES: Readonly<Partial<Record<TalosErrorKind, number>>> = {
  locked: CODE.failedPrecondition,
  unsupported: CODE.unimplemented,
  invalid: CODE.invalidArgument,
  'not-found': CODE.notFound,
  refused: CODE.unknown,
  timeout: CODE.deadlineExceeded,
};

/** Runs what a machine answers; its refusal becomes the status that Talos gives. */
export function answering<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof Refusal) throw new GrpcError(CODES[error.kind] ?? CODE.unknown, error.message);
    throw error;
  }
}
