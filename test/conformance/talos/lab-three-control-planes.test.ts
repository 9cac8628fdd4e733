import { afterAll, beforeAll, describe } from 'vitest';
import { aggregatorMapConformance } from './aggregator-map.ts';
import { workerConformance } from './calls.ts';
import { etcdCaConformance } from './etcd-ca.ts';
import { labTarget } from './lab-target.ts';
import { openSubject } from './subject.ts';
import { workerPkiConformance } from './worker-pki.ts';

describe('a lab, three control planes and a worker', () => {
  let subject: ReturnType<typeof openSubject>;
  let lab: Awaited<ReturnType<typeof labTarget>>;

  beforeAll(async () => {
    lab = await labTarget({ controlPlanes: 3, workers: 1 });
    subject = openSubject(lab.target);
  });

  afterAll(async () => {
    subject?.close();
    await lab?.[Symbol.asyncDispose]();
  });

  workerConformance(() => subject);
  etcdCaConformance(() => subject);
  aggregatorMapConformance(() => subject);
  workerPkiConformance(() => subject);
});
