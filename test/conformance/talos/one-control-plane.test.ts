import { afterAll, beforeAll } from 'vitest';
import { describeReal } from '../../support/real.ts';
import { RIG_TOOLS } from '../../talos/parts.ts';
import { discardSharedCluster, sharedCluster } from '../../talos/shared.ts';
import { applyConformance } from './apply.ts';
import { callsConformance } from './calls.ts';
import { faultsConformance } from './faults.ts';
import { pkiConformance } from './pki.ts';
import { realTarget } from './real-target.ts';
import { openSubject } from './subject.ts';

describeReal('real Talos, one control plane', { tools: RIG_TOOLS, root: true, linux: true }, () => {
  let subject: ReturnType<typeof openSubject>;

  beforeAll(async () => {
    subject = openSubject(await realTarget(await sharedCluster('typed-1-0')));
  });

  afterAll(async () => {
    subject?.close();
    // The last part leaves it on other CAs than its files say.
    await discardSharedCluster('typed-1-0');
  });

  callsConformance(() => subject);
  applyConformance(() => subject);
  faultsConformance(() => subject);
  pkiConformance(() => subject);
});
