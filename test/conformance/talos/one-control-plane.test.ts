import { afterAll, beforeAll } from 'vitest';
import { describeReal } from '../../support/real.ts';
import { type TalosCluster, talosCluster } from '../../talos/cluster.ts';
import { RIG_TOOLS } from '../../talos/parts.ts';
import { applyConformance } from './apply.ts';
import { callsConformance } from './calls.ts';
import { clusterFieldsConformance } from './cluster-fields.ts';
import { etcdFieldsAfterReboot, etcdFieldsConformance } from './etcd-fields.ts';
import { faultsConformance } from './faults.ts';
import { keysConformance } from './keys.ts';
import { pkiConformance } from './pki.ts';
import { realTarget } from './real-target.ts';
import { openSubject } from './subject.ts';
import { trustdConformance } from './trustd.ts';

describeReal('real Talos, one control plane', { tools: RIG_TOOLS, root: true, linux: true }, () => {
  let cluster: TalosCluster;
  let subject: ReturnType<typeof openSubject>;

  beforeAll(async () => {
    cluster = await talosCluster({ controlPlanes: 1, workers: 0, name: 'conform10' });
    subject = openSubject(await realTarget(cluster));
  });

  afterAll(async () => {
    subject?.close();
    await cluster?.[Symbol.asyncDispose]();
  });

  callsConformance(() => subject);
  applyConformance(() => subject);
  trustdConformance(() => subject);
  clusterFieldsConformance(() => subject);
  keysConformance(() => subject);
  etcdFieldsConformance(() => subject);
  // It reboots the machine.
  faultsConformance(() => subject);
  etcdFieldsAfterReboot(() => subject);
  pkiConformance(() => subject);
});
