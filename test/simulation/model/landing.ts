import { CORDON, LATE, type Machine, machineAt, PHASE, POOL, REBOOT, type State, withMachine } from './state.ts';

/** What a call does to the machine that it reaches; a second reboot changes nothing. */
export function landed(state: State, index: number, call: number): State {
  if (call !== REBOOT) return withMachine(state, index, { config: call });
  if (machineAt(state, index).phase === PHASE.stopping) return state;
  return withMachine(state, index, { phase: PHASE.stopping, byUs: true, pool: POOL.none, apiPool: POOL.none });
}

/** What a request to Kubernetes does to the Node of a machine. */
export function requested(state: State, index: number, request: Machine['late']): State {
  if (request === LATE.uncordon) return withMachine(state, index, { cordon: CORDON.open });
  const { cordon } = machineAt(state, index);
  return cordon === CORDON.open ? withMachine(state, index, { cordon: CORDON.cordoned }) : state;
}
