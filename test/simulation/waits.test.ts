import { describe, expect, it } from 'vitest';
import { watchedFor } from '../../internal/controller/waiting.ts';
import { createFleetCluster, createMint, type FleetCluster } from '../../internal/simulator/index.ts';

const NOTHING = { kind: 'done', reason: 'Completed', message: '' } as const;

/** Looks once, and says who was read, when, and what it led to. */
async function look(cluster: FleetCluster) {
  for (const calls of cluster.reads.values()) calls.clear();
  const at = cluster.now();
  const reconciled = await cluster.step();
  const read = [...cluster.reads].filter(([, calls]) => calls.has('ServiceList')).map(([name]) => name);
  return reconciled && { at, read, decision: reconciled.decision };
}

type Look = NonNullable<Awaited<ReturnType<typeof look>>>;

async function rotate(): Promise<Look[]> {
  const targets = ['talos', 'kubernetes', 'etcd'] as const;
  const cluster = createFleetCluster({ seed: 1, controlPlanes: 3, workers: 2, targets, mint: await createMint(2) });
  const looks: Look[] = [];
  for (let each = await look(cluster); each !== undefined; each = await look(cluster)) looks.push(each);
  return looks;
}

describe('a rotation', () => {
  it('reads the machine alone that it waits for, all of them every five seconds, and all of them before it does anything', async () => {
    const looks = await rotate();
    const doing = looks.filter(({ decision }) => decision.kind === 'act');
    const alone = looks.filter(({ read }) => read.length === 1);

    expect(doing.length).toBeGreaterThan(40);
    expect(doing.filter(({ read }) => read.join() !== 'cp1,cp2,cp3,w1,w2')).toEqual([]);
    expect(alone.length).toBeGreaterThan(100);
    expect(alone.filter(({ read: [name = ''], decision }) => !decision.message.includes(name))).toEqual([]);
    for (const [index, { read }] of looks.entries()) {
      // Whom the decision before has left to be looked at, or whom the look before looked at alone, too.
      if (read.length === 1) expect(watchedFor(looks[index - 1]?.decision ?? NOTHING)).toEqual(read);
    }
    let whole = 0;
    for (const { at, read } of looks) {
      // A machine that reboots answers nobody.
      if (read.length > 1) whole = at;
      else expect(at - whole).toBeLessThan(5_000);
    }
  });
});
