import { isDeepStrictEqual } from 'node:util';
import {
  API_VERSION,
  type CaTarget,
  type OperationSpec,
  pendingStatus,
  type TalosOperation,
} from '../../api/v1alpha1/index.ts';
import {
  type EmbeddedStore,
  isOperationName,
  type LockOwner,
  type OperationChange,
  StaleOperationError,
} from '../store/index.ts';
import { CliError } from './cli-error.ts';

/** Whether an operation still has something to do. */
export function isUnderWay(operation: TalosOperation): boolean {
  return operation.status.phase !== 'Completed' || operation.metadata.finalizers.length > 0;
}

/** The operation that is under way on this cluster; there is never more than one that has begun. */
export async function operationUnderWay(store: EmbeddedStore): Promise<TalosOperation | undefined> {
  const open = (await store.listOperations()).filter(isUnderWay);
  return open.find((each) => each.status.stage !== 'Pending') ?? open[0];
}

/** The operation of that name; without a name the one under way, else the newest. Errors: `not-found`. */
export async function findOperation(store: EmbeddedStore, name: string | undefined): Promise<TalosOperation> {
  if (name !== undefined) {
    const found = isOperationName(name) ? await store.readOperation(name) : undefined;
    if (found !== undefined) return found;
    const names = (await store.listOperations()).map((each) => each.metadata.name);
    throw new CliError('not-found', `there is no operation ${name}; there are: ${names.join(', ') || 'none'}`);
  }
  const open = await operationUnderWay(store);
  if (open !== undefined) return open;
  const newest = [...(await store.listOperations())].sort((a, b) =>
    a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1,
  );
  const last = newest.at(-1);
  if (last === undefined) throw new CliError('not-found', `there is no operation in ${store.directory}`);
  return last;
}

/** What an operation replaces: the targets that were frozen when it began, before that those that were asked for. */
export function targetsAskedFor({ spec, status }: Pick<TalosOperation, 'spec' | 'status'>): readonly CaTarget[] {
  const { targets } = status.caRotation;
  return targets.length > 0 ? targets : (spec.caRotation?.targets ?? []);
}

/** What may be changed of an operation that has begun. */
export type SpecChange = NonNullable<OperationChange['spec']>;

/** Changes what was asked for, also while a process runs the operation: it reads that at its next look. */
export async function changeSpec(store: EmbeddedStore, name: string, change: SpecChange): Promise<TalosOperation> {
  for (;;) {
    const operation = await findOperation(store, name);
    const spec = { ...operation.spec, ...change };
    if (isDeepStrictEqual(spec, operation.spec)) return operation;
    try {
      return await store.updateOperation(operation, { spec: change });
    } catch (error) {
      // The engine wrote in between.
      if (!(error instanceof StaleOperationError)) throw error;
    }
  }
}

/** A name for a new operation: sorts by time, `rotate-ca-20261105-120000`. */
export function operationName(now: number): string {
  const digits = new Date(now).toISOString().replaceAll(/[-:]/g, '');
  return `rotate-ca-${digits.slice(0, 8)}-${digits.slice(9, 15)}`;
}

/** An operation that is not stored: what the engine would decide about it is the plan. */
export function draftOperation(spec: OperationSpec, now: number): TalosOperation {
  return {
    apiVersion: API_VERSION,
    kind: 'TalosOperation',
    metadata: {
      name: 'plan',
      uid: 'plan',
      generation: 1,
      resourceVersion: '0',
      creationTimestamp: new Date(now).toISOString(),
      finalizers: [],
      annotations: {},
    },
    spec,
    status: pendingStatus(),
  };
}

/** Who takes an operation further that nothing else holds, in words. */
export function nextOf({ metadata, spec }: TalosOperation, holder: LockOwner | undefined): string {
  if (spec.paused) return `it is paused; let it go on with ichor operation continue ${metadata.name}`;
  return holder === undefined
    ? 'no process runs it now; ichor cluster rotate-ca takes it up'
    : `process ${holder.pid} on ${holder.host} runs it and goes on`;
}
