import { afterAll, beforeAll, describe } from 'vitest';
import { applyConformance } from './apply.ts';
import { callsConformance } from './calls.ts';
import { clusterFieldsConformance } from './cluster-fields.ts';
import { etcdFieldsAfterReboot, etcdFieldsConformance } from './etcd-fields.ts';
import { faultsConformance } from './faults.ts';
import { labTarget } from './lab-target.ts';
import { pkiConformance } from './pki.ts';
import { openSubject } from './subject.ts';
import { trustdConformance } from './trustd.ts';

describe('a lab, one control plane', () => {
  let subject: ReturnType<typeof openSubject>;
  let lab: Awaited<ReturnType<typeof labTarget>>;

  beforeAll(async () => {
    lab = await labTarget({ controlPlanes: 1, workers: 0 });
    subject = openSubject(lab.target);
  });

  afterAll(async () => {
    subject?.close();
    await lab?.[Symbol.asyncDispose]();
  });

  callsConformance(() => subject);
  applyConformance(() => subject);
  trustdConformance(() => subject);
  clusterFieldsConformance(() => subject);
  etcdFieldsConformance(() => subject);
  // It reboots the machine.
  faultsConformance(() => subject);
  etcdFieldsAfterReboot(() => subject);
  pkiConformance(() => subject);
});
