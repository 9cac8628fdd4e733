import { describe, expect, it } from 'vitest';
import { TalosError } from '../../pkg/talos/index.ts';
import { aCluster } from '../../test/builders/machine.ts';
import { createManualClock } from '../../test/builders/manual-clock.ts';
import type { ListedMachine } from './machines.ts';
import type { MachineRef, Session } from './session.ts';
import { lookForUnlisted, type Silent } from './unlisted.ts';

/** `cp1` and `w1` have Nodes, and are in `boot-1`. */
const SEEN = aCluster({ controlPlanes: 1, workers: 1 });
const LISTED = SEEN.map(({ name, address, role }) => ({ name, address, role, node: undefined })) as ListedMachine[];
const NAMED = { cp1: ['10.0.0.1'], w1: ['10.0.0.1'] };

/** Looks where discovery names `members`, and machines answer at some addresses with their boot, or refuse us. */
function aLook(members: Readonly<Record<string, readonly string[]>>, answers: Readonly<Record<string, string>> = {}) {
  const asked: string[] = [];
  const clock = createManualClock();
  const silent: Silent = new Map();
  const fail = (kind: 'unreachable' | 'untrusted-client') =>
    new TalosError({ kind, machine: 'any', call: 'Get BootIDs', outcome: 'not-done', detail: 'no' });
  const session = {
    talos: async (machine: MachineRef, work: (client: unknown) => unknown) =>
      work({
        list: async () => Object.entries(members).map(([id, addresses]) => ({ metadata: { id }, spec: { addresses } })),
        bootId: async () => {
          asked.push(machine.address);
          const answer = answers[machine.address];
          if (answer === undefined) throw fail('unreachable');
          if (answer === 'refuses') throw fail('untrusted-client');
          return answer;
        },
      }),
  } as unknown as Session;
  const look = () => lookForUnlisted({ session, clock, silent, machines: LISTED })(SEEN);
  return { look, asked, clock };
}

describe('machines without a Node', () => {
  it('are those that discovery names and nobody lists, at the address where they answer', async () => {
    const { look, asked } = aLook({ ...NAMED, w9: ['10.9.0.9', '10.0.0.9'] }, { '10.0.0.9': 'boot-9' });

    expect(await look()).toEqual({ known: true, value: [{ name: 'w9', address: '10.0.0.9', answers: true }] });
    expect(asked).toEqual(['10.9.0.9', '10.0.0.9']);
  });

  it('are none where everybody has one', async () => {
    expect(await aLook(NAMED).look()).toEqual({ known: true, value: [] });
  });

  it('are not asked for by a name of before: who has that address now is in the list', async () => {
    const { look, asked } = aLook({ ...NAMED, gone: ['10.0.0.1'] });

    expect(await look()).toEqual({ known: true, value: [] });
    expect(asked).toEqual([]);
  });

  it('are not those of the list that answer elsewhere: the boot tells', async () => {
    const { look } = aLook({ ...NAMED, other: ['192.168.7.1'] }, { '192.168.7.1': 'boot-1' });

    expect(await look()).toEqual({ known: true, value: [] });
  });

  it('answer also where they refuse us: what they show is signed by a CA of this cluster', async () => {
    const { look } = aLook({ ...NAMED, w9: ['10.0.0.9'] }, { '10.0.0.9': 'refuses' });

    expect(await look()).toEqual({ known: true, value: [{ name: 'w9', address: '10.0.0.9', answers: true }] });
  });

  it('are asked again half a minute after they did not answer, and not at every look', async () => {
    const { look, asked, clock } = aLook({ ...NAMED, w9: ['10.0.0.9'] });
    const unheard = { known: true, value: [{ name: 'w9', address: '10.0.0.9', answers: false }] };
    expect(await look()).toEqual(unheard);
    await clock.advance(29_999);

    expect(await look()).toEqual(unheard);
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    expect(await look()).toEqual(unheard);
    expect(asked).toHaveLength(2);
  });

  it('are unknown where discovery does not name those in the list, as where it is off', async () => {
    expect(await aLook({}).look()).toEqual({
      known: false,
      why: 'failed',
      message: 'discovery names 0 of the 2 machines in the list',
    });
  });

  it('count where discovery names one of them, whomever it does not name', async () => {
    const { look } = aLook({ w9: ['10.0.0.9'] }, { '10.0.0.9': 'boot-9' });

    expect(await look()).toEqual({ known: true, value: [{ name: 'w9', address: '10.0.0.9', answers: true }] });
  });
});
