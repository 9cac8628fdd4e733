import { afterAll, beforeAll } from 'vitest';
import { describeReal } from '../../support/real.ts';
import { type TalosCluster, talosCluster } from '../../talos/cluster.ts';
import { RIG_TOOLS } from '../../talos/parts.ts';
import { dryRunConformance } from './apply.ts';
import { kubernetesStagesConformance } from './kubernetes-pki.ts';
import { movedFieldsConformance } from './moved-fields.ts';
import { realTarget } from './real-target.ts';
import { stagedChanges } from './staging.ts';
import { openSubject } from './subject.ts';

/** Only that of which the shape could decide: what is answered, and all material that typed documents can hold. */
describeReal('real Talos, the configuration in one document', { tools: RIG_TOOLS, root: true, linux: true }, () => {
  let cluster: TalosCluster;
  let subject: ReturnType<typeof openSubject>;

  beforeAll(async () => {
    cluster = await talosCluster({ controlPlanes: 1, workers: 0, contract: 'v1.13', name: 'conlegacy' });
    subject = openSubject(await realTarget(cluster));
  });

  afterAll(async () => {
    subject?.close();
    await cluster?.[Symbol.asyncDispose]();
  });

  dryRunConformance(() => subject);
  movedFieldsConformance(() => subject);
  kubernetesStagesConformance(
    () => subject,
    stagedChanges(() => subject),
  );
});
