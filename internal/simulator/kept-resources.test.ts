import { beforeAll, describe, expect, it } from 'vitest';
import { resourceOf } from './kept-resources.ts';
import { createMint, type Mint } from './mint.ts';
import { storeConfiguration } from './transitions.ts';
import { createWorld, type World } from './world.ts';

const ASKED = { type: 'OSRootSecrets.secrets.talos.dev', namespace: 'secrets', id: 'os' };

describe('a resource of a simulated machine', () => {
  let mint: Mint;
  beforeAll(async () => {
    mint = await createMint(2);
  });

  function aMachine() {
    const world = createWorld({ seed: 1, controlPlanes: 1, workers: 0, mint });
    const machine = world.find('cp1');
    if (machine === undefined) throw new Error('there is no cp1');
    return { world, machine };
  }

  const passed = (world: World, ms: number): Promise<void> => world.clock.run(world.clock.sleep(ms));

  it('is the same object while the machine is made of the same', async () => {
    const { world, machine } = aMachine();
    const first = resourceOf(world, machine, ASKED);

    await passed(world, 60_000);

    expect(resourceOf(world, machine, ASKED)).toBe(first);
  });

  it('is another one when its version has moved, even with the same content', async () => {
    const { world, machine } = aMachine();
    const before = resourceOf(world, machine, ASKED);
    machine.versions.set('OSRoot', 7n);
    machine.revision += 1;

    const after = resourceOf(world, machine, ASKED);

    expect(after?.metadata.version).toBe(7n);
    expect(after?.spec).toEqual(before?.spec);
  });

  it('holds what a new configuration brings, from when the controllers have taken it up', async () => {
    const { world, machine } = aMachine();
    const next = mint.ca('talos', 1).certificate;
    const before = resourceOf(world, machine, ASKED);
    const config = machine.config.replace('    certSANs: []', `    acceptedCAs:\n        - crt: ${base64(next.pem)}`);

    storeConfiguration(world, machine, config, { staged: false });
    expect(resourceOf(world, machine, ASKED)?.spec).toEqual(before?.spec);
    await passed(world, 10_000);

    const after = resourceOf(world, machine, ASKED);
    expect(after?.spec).toMatchObject({ accepted: [{ fingerprint: next.fingerprint }, {}] });
    expect(after?.metadata.version).toBe(2n);
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
