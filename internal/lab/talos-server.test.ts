import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MACHINE_STATUS, OS_ROOT, SERVICE } from '../../pkg/talos/index.ts';
import { aTalosLab, type TalosLab } from '../../test/builders/talos-lab.ts';

describe('the Talos API of a lab', () => {
  let lab: TalosLab;

  beforeAll(async () => {
    lab = await aTalosLab({ block: 1, controlPlanes: 1, workers: 1 });
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  it('tells its version', async () => {
    expect(await lab.client('cp1').version()).toMatchObject({ tag: 'v1.14.1', rbac: true });
  });

  it('gives the configuration as it was applied', async () => {
    const { config } = await lab.client('cp1').configuration('active');

    expect(config.expose()).toBe(lab.machine('cp1').config);
  });

  it('shows resources and status', async () => {
    const client = lab.client('cp1');

    expect((await client.get(MACHINE_STATUS))?.spec).toEqual({ stage: 'running', ready: true, unmet: [] });
    expect((await client.get(OS_ROOT))?.spec.issuing?.keyFingerprint).toBe(
      lab.bundle.talos.certificate.publicKeyFingerprint,
    );
    expect((await client.list(SERVICE)).map(({ metadata }) => metadata.id)).toContain('kubelet');
  });
});
