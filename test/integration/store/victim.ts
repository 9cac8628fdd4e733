import { openEmbeddedStore, StaleOperationError } from '../../../internal/store/index.ts';
import { createRotationRecord } from '../../../pkg/bundle/index.ts';
import { aNewCa } from '../../builders/bundle.ts';

/**
 * A process that writes to a store until it is killed. After each round, which is durable by then, it prints the number
 * of the round. Run with the folder of the store; goes on where the last one was killed.
 */
const [directory = '.'] = process.argv.slice(2);
const store = await openEmbeddedStore({ directory });
const lock = await store.acquireLock({ purpose: 'being killed' });
process.stdout.write(`taken from ${lock.takenFrom?.pid ?? 'nobody'}\n`);
const { bundle, record: left } = await store.readState();
const record = left ?? createRotationRecord(bundle, { etcd: await aNewCa('etcd') }, { operation: 'uid-1' });
let operation =
  (await store.readOperation('rotate-1')) ??
  (await store.createOperation({
    name: 'rotate-1',
    spec: { type: 'CARotation', paused: false, restartWorkloads: 'Never', previousBundle: 'Remove' },
  }));

for (let round = 1 + Number(operation.metadata.annotations.round ?? 0); ; round += 1) {
  if (round % 2 === 1) await store.writeRecord(record);
  else await store.removeRecord();
  await store.appendAudit({
    time: 't',
    operation: 'uid-1',
    stage: 's',
    effect: String(round),
    phase: 'before',
    message: 'm',
  });
  await store.writeTalosconfig(`context: ${'x'.repeat(20_000)}${round}\n`);
  try {
    operation = await store.updateOperation(operation, { annotations: { round: String(round) } });
  } catch (error) {
    if (!(error instanceof StaleOperationError)) throw error;
    throw new Error('nobody else writes here', { cause: error });
  }
  process.stdout.write(`round ${round}\n`);
}
