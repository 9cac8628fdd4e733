import { type CertificateAndKey, createCa, issueLeaf } from '../../pkg/pki/index.ts';
import { isListening, type SimMachine, servingIssuer } from '../simulator/index.ts';
import { historyOf } from '../simulator/kube/index.ts';
import { serveKubelet } from './kubelet-server.ts';
import { serveRequest } from './kubernetes/api.ts';
import { createPort, type Process } from './kubernetes/port.ts';
import type { LabWorld, Served } from './served.ts';

const KUBELET_PORT = 10_250;

/**
 * Serves Kubernetes on one machine: its kubelet, and on control planes kube-apiserver. A port is open while its process
 * runs; what is read again when a file changes is served from the next handshake on, what is read at a start from then.
 */
export function serveKubernetes(lab: LabWorld, machine: SimMachine): Served {
  const { world } = lab;
  const now = (): number => world.clock.now();
  const { address, name } = machine;
  const onFailure = (error: Error): void => lab.log(name, `a port could not be opened: ${error.message}`);
  let began = { instance: 0, revision: 0 };

  const api = createPort({
    ...{ address, now, onFailure },
    onRequest(request, response, certificate) {
      const beganAt = (): number => began.revision;
      const log = (line: string): void => lab.log(name, `kube-apiserver: ${line}`);
      serveRequest({ world, machine, beganAt, changed: lab.changed, log }, request, response, certificate).catch(
        (error: Error) => {
          log(`a request ended early: ${error.message}`);
          response.destroy(error);
        },
      );
    },
  });
  const kubelet = createPort({
    ...{ address, now, onFailure },
    onRequest: (request, response, certificate) => serveKubelet(lab, machine, { request, response, certificate }),
  });

  let serving: CertificateAndKey | undefined;
  selfIssued(machine, now()).then(
    (issued) => {
      serving = issued;
      lab.changed();
    },
    (error: Error) => onFailure(error),
  );

  let awaited = 0;
  /** A process is of use a while after its start, and nothing else happens at that moment. */
  function awaitReadiness(): void {
    const { isRunning, instance, readyAt } = machine.plane?.apiServer ?? { isRunning: false, instance: 0, readyAt: 0 };
    const left = readyAt - world.clock.monotonic();
    if (!isRunning || awaited === instance || left <= 0) return;
    awaited = instance;
    world.clock.schedule(left, lab.changed);
  }

  return {
    sync() {
      awaitReadiness();
      kubelet.follow(kubeletState(lab, machine, serving));
      const state = apiState(lab, machine);
      if (state !== undefined && state.instance !== began.instance) {
        const history = historyOf(world);
        history.refresh();
        // Its caches begin with what there is at its start; it knows no change before.
        began = { instance: state.instance, revision: history.latest() };
      }
      api.follow(state);
      // Changes that nobody asked for reach those who watch.
      world.kubernetes.history?.refresh();
    },
    async close() {
      await Promise.all([api.close(), kubelet.close()]);
    },
  };
}

function apiState({ world, certificates }: LabWorld, machine: SimMachine): Process | undefined {
  const { plane, taken } = machine;
  if (plane === undefined || !isListening(world, machine)) return undefined;
  const { instance, isFrozen, port } = plane.apiServer;
  const served = certificates.leaf(machine, 'kube-apiserver', servingIssuer(machine));
  // The names of these go into the certificate request; whether a certificate is taken is asked at every request.
  const accepts = [...(taken.kubernetes?.accepted ?? []), ...(taken.aggregator?.accepted ?? [])];
  return { port, material: { served, accepts, isOptional: true }, instance, isFrozen };
}

function kubeletState(
  { certificates }: LabWorld,
  machine: SimMachine,
  served: CertificateAndKey | undefined,
): Process | undefined {
  const { kubelet, isUp, isCutOff } = machine;
  if (served === undefined || !kubelet.isRunning || !isUp || isCutOff) return undefined;
  const accepts = kubelet.trust.map((print) => certificates.ca(print)).filter((ca) => ca !== undefined);
  return {
    port: KUBELET_PORT,
    material: { served, accepts, isOptional: true },
    instance: kubelet.instance,
    isFrozen: false,
  };
}

/**
 * The serving certificate of a kubelet: it makes one by itself at its first start, under a CA of which it keeps nothing,
 * and has it for good. Nobody can verify it, as on a real machine without rotation of serving certificates.
 */
async function selfIssued({ name, address }: SimMachine, now: number): Promise<CertificateAndKey> {
  const ca = await createCa('kubernetes', { now });
  const subject = { cn: `${name}@${Math.floor(now / 1_000)}` };
  return issueLeaf(ca, { subject, usages: ['server'], dns: [name], ips: [address], now, validityMs: 365 * 86_400_000 });
}
