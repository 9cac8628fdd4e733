import { join } from 'node:path';
import { parseDocument, stringify } from 'yaml';
import { API_VERSION, HANDOFF_ANNOTATION, pendingStatus, TalosOperation } from '../../api/v1alpha1/index.ts';
import { createFile, ensureDirectory, removeFile, replaceFile, type WriteMeans } from './atomic-file.ts';
import { StaleOperationError, StoreError } from './error.ts';
import type { NewOperation, OperationChange } from './store.ts';

/** Where operations are kept, and what making one needs. */
export interface OperationFiles extends WriteMeans {
  /** The folder `operations`. */
  readonly directory: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newUid: () => string;
  /** What each file held when it was read last, by its path: it is read at every look, and changes less often. */
  readonly known: Map<string, { readonly bytes: Uint8Array; readonly operation: TalosOperation }>;
}

/** Every operation, sorted by name. */
export async function listOperations(at: OperationFiles): Promise<TalosOperation[]> {
  const { files, directory } = at;
  const names = (await files.list(directory)).filter((name) => /^[^.].*\.yaml$/.test(name)).sort();
  const read = await Promise.all(names.map((name) => readFileAt(at, join(directory, name))));
  return read.filter((operation) => operation !== undefined);
}

/** One operation, or nothing. */
export async function readOperation(at: OperationFiles, name: string): Promise<TalosOperation | undefined> {
  return readFileAt(at, pathOf(at, name));
}

/** Stores a new operation. Errors: `exists`; `malformed` where the name or the spec is not valid. */
export async function createOperation(at: OperationFiles, operation: NewOperation): Promise<TalosOperation> {
  const path = pathOf(at, operation.name);
  const stored = validated(path, {
    apiVersion: API_VERSION,
    kind: 'TalosOperation',
    metadata: {
      name: operation.name,
      uid: at.newUid(),
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: new Date(at.now()).toISOString(),
      finalizers: [...(operation.finalizers ?? [])],
      annotations: { ...operation.annotations },
    },
    spec: operation.spec,
    status: pendingStatus(),
  });
  await ensureDirectory(at.files, at.directory);
  await createFile(at, path, render(stored));
  return stored;
}

/** Compare-and-set; the caller holds the write lock. See `ClusterStore.updateOperation`. */
export async function updateOperation(
  at: OperationFiles,
  seen: TalosOperation,
  change: OperationChange,
): Promise<TalosOperation> {
  const { name } = seen.metadata;
  const path = pathOf(at, name);
  const stored = await readFileAt(at, path);
  if (stored?.metadata.uid !== seen.metadata.uid || stored.metadata.resourceVersion !== seen.metadata.resourceVersion) {
    throw new StaleOperationError(name);
  }
  const changed = validated(path, changedOperation(stored, change));
  await writeOrRemove(at, path, changed);
  return changed;
}

/** Marks an operation for deletion; the caller holds the write lock. See `ClusterStore.deleteOperation`. */
export async function deleteOperation(at: OperationFiles, name: string): Promise<TalosOperation | undefined> {
  const path = pathOf(at, name);
  const stored = await readFileAt(at, path);
  if (stored === undefined || stored.metadata.deletionTimestamp !== undefined) return stored;
  const deletionTimestamp = new Date(at.now()).toISOString();
  const marked = { ...stored, metadata: { ...nextVersion(stored), deletionTimestamp } };
  await writeOrRemove(at, path, marked);
  return marked;
}

async function writeOrRemove(at: OperationFiles, path: string, operation: TalosOperation): Promise<void> {
  const isGone = operation.metadata.deletionTimestamp !== undefined && operation.metadata.finalizers.length === 0;
  if (isGone) await removeFile(at.files, path);
  else await replaceFile(at, path, render(operation));
}

function changedOperation(stored: TalosOperation, change: OperationChange): unknown {
  const annotations: Record<string, string> = { ...stored.metadata.annotations, ...change.annotations };
  if (change.dropHandoff === true) delete annotations[HANDOFF_ANNOTATION];
  const spec = { ...stored.spec, ...change.spec };
  const isSpecChanged = JSON.stringify(spec) !== JSON.stringify(stored.spec);
  return {
    ...stored,
    metadata: {
      ...nextVersion(stored),
      generation: stored.metadata.generation + (isSpecChanged ? 1 : 0),
      finalizers: [...(change.finalizers ?? stored.metadata.finalizers)],
      annotations,
    },
    spec,
    status: change.status ?? stored.status,
  };
}

function nextVersion({ metadata }: TalosOperation): TalosOperation['metadata'] {
  return { ...metadata, resourceVersion: String(Number(metadata.resourceVersion) + 1) };
}

async function readFileAt({ files, known }: OperationFiles, path: string): Promise<TalosOperation | undefined> {
  const bytes = await files.read(path);
  if (bytes === undefined) {
    known.delete(path);
    return undefined;
  }
  const before = known.get(path);
  if (before !== undefined && Buffer.compare(before.bytes, bytes) === 0) return before.operation;
  const document = parseDocument(Buffer.from(bytes).toString('utf8'), { prettyErrors: false });
  const problem = document.errors[0];
  if (problem !== undefined) throw new StoreError('malformed', path, `is not valid YAML (${problem.message})`);
  const operation = frozen(validated(path, document.toJS()));
  known.set(path, { bytes, operation });
  return operation;
}

/** Whoever reads it next gets the same object. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

function validated(path: string, value: unknown): TalosOperation {
  const parsed = TalosOperation.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the operation'}: ${issue.message}`);
  throw new StoreError('malformed', path, `is no valid operation. ${problems.join('; ')}`);
}

function render(operation: TalosOperation): Uint8Array {
  return Buffer.from(stringify(operation, { lineWidth: 0 }));
}

/** Whether an operation may be called so: the schema's rule for names. */
export function isOperationName(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name);
}

function pathOf({ directory }: OperationFiles, name: string): string {
  // Asked before a path is built of it.
  if (isOperationName(name)) return join(directory, `${name}.yaml`);
  throw new StoreError(
    'malformed',
    directory,
    `"${name}" is no name for an operation; expected lower-case letters, digits and dashes, at most 63`,
  );
}
