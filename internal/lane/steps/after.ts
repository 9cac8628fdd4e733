import type { Step } from '../model.ts';
import { checkWhole } from '../rotate.ts';

/** What the lane itself wrote into the cluster is taken out again. */
export const after: Step = {
  id: 'after',
  title: 'Remove the ConfigMap again',
  stands: ['first list, 1'],
  needs: ['before'],
  async run(context, checks) {
    const { memory, readings } = context;
    const name = memory.configMap ?? '';
    await readings.deleteConfigMap(name);
    checks.that('the ConfigMap is gone', (await readings.readConfigMap(name)) === undefined, `default/${name}`);
    await checkWhole(context, checks);
  },
};
