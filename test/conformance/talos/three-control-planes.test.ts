import { afterAll, beforeAll } from 'vitest';
import { describeReal } from '../../support/real.ts';
import { RIG_TOOLS } from '../../talos/parts.ts';
import { discardSharedCluster, sharedCluster } from '../../talos/shared.ts';
import { aggregatorMapConformance } from './aggregator-map.ts';
import { workerConformance } from './calls.ts';
import { etcdCaConformance } from './etcd-ca.ts';
import { realTarget } from './real-target.ts';
import { openSubject } from './subject.ts';
import { workerPkiConformance } from './worker-pki.ts';

describeReal('real Talos, three control planes and a worker', { tools: RIG_TOOLS, root: true, linux: true }, () => {
  let subject: ReturnType<typeof openSubject>;

  beforeAll(async () => {
    subject = openSubject(await realTarget(await sharedCluster('typed-3-1')));
  });

  afterAll(async () => {
    subject?.close();
    // It is on other CAs than its files say.
    await discardSharedCluster('typed-3-1');
  });

  workerConformance(() => subject);
  etcdCaConformance(() => subject);
  aggregatorMapConformance(() => subject);
  workerPkiConformance(() => subject);
});
