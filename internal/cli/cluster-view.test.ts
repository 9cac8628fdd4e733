import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { MADE_AT } from '../../test/builders/certificates.ts';
import { aClusterFolder, runInProcess } from '../../test/builders/cli.ts';

describe('the view of a cluster', () => {
  it('asks at the address of an endpoint that is given with the port of the Talos API, or in brackets', async () => {
    using folder = aClusterFolder();
    const asked = new Set<string>();
    const connect = ({ address }: { readonly address: string }): never => {
      asked.add(address);
      throw new Error('nobody is there');
    };

    await runInProcess(['cluster', 'credentials', 'home', '--endpoint', '[fd00::1]:50000,10.0.0.2:50000'], {
      directory: folder.path,
      now: MADE_AT,
      connections: { talos: connect as never, kube: connect as never },
    });

    assert.deepEqual([...asked].sort(), ['10.0.0.2', 'fd00::1']);
  });
});
