import { caOf } from '../../../pkg/bundle/index.ts';
import { prints } from '../material.ts';
import type { Checker, Moment } from '../run.ts';
import { pairOf } from './material.ts';

/** S24: done means done: bundle, running processes, published CAs, cordons and store are what the status says. */
export function truthful(): Checker {
  return {
    property: 'S24 truthful',
    end(moment) {
      const { operation, store, world } = moment;
      if (operation !== undefined && operation.status.observedGeneration > operation.metadata.generation) {
        return 'the status speaks of a generation that there is not';
      }
      if (operation?.status.stage !== 'Done') return undefined;
      if (store.record !== undefined) return 'the record is still there';
      if (store.previous !== undefined) return 'the replaced bundle is still there';
      const cordoned = world.machines().find((machine) => machine.node?.unschedulable === true);
      if (cordoned !== undefined) return `${cordoned.name} is still cordoned`;
      return bundleIsNew(moment) ?? poolsAreNew(moment);
    },
  };
}

function bundleIsNew(moment: Moment): string | undefined {
  for (const target of moment.scenario.targets) {
    const held = caOf(moment.store.document.bundle, target).certificate.fingerprint;
    if (held !== pairOf(moment, target).new) return `the bundle holds another ${target} CA than the new one`;
  }
  return undefined;
}

/** What processes read at their start, which no resource shows. */
function poolsAreNew(moment: Moment): string | undefined {
  const { world, scenario } = moment;
  for (const { name, plane, kubelet, api } of world.machines()) {
    if (scenario.targets.includes('talos') && prints(api.accepted).includes(pairOf(moment, 'talos').old)) {
      return `apid of ${name} still accepts the old CA`;
    }
    if (scenario.targets.includes('kubernetes') && kubelet.trust.includes(pairOf(moment, 'kubernetes').old)) {
      return `the kubelet of ${name} still runs with the old CA`;
    }
    if (plane === undefined || !scenario.targets.includes('etcd')) continue;
    const { old } = pairOf(moment, 'etcd');
    if (plane.etcd.pool.includes(old)) return `etcd on ${name} still runs with the old CA`;
    if (plane.apiServer.etcdPool.includes(old)) return `the API server of ${name} still trusts the old etcd CA`;
  }
  return undefined;
}
