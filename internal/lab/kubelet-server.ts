import type { Certificate } from '../../pkg/pki/index.ts';
import type { SimMachine } from '../simulator/index.ts';
import { type ApiReply, historyOf, resourceAt } from '../simulator/kube/index.ts';
import { addressOf, send } from './kubernetes/http.ts';
import { identify } from './kubernetes/identity.ts';
import type { Request, Response } from './kubernetes/port.ts';
import type { LabWorld } from './served.ts';

/** What came in on the port of a kubelet. */
export interface KubeletRequest {
  readonly request: Request;
  readonly response: Response;
  /** What the client showed, verified or not. */
  readonly certificate: Certificate | undefined;
}

/** Answers one request to the kubelet of a machine: its health and its pods, to members of `system:masters`. */
export function serveKubelet(lab: LabWorld, machine: SimMachine, served: KubeletRequest): void {
  send(served.response, answered(lab, machine, served));
}

function answered(lab: LabWorld, machine: SimMachine, { request, certificate }: KubeletRequest): ApiReply {
  // The client CA file is read at the start of the process.
  const client = machine.kubelet.trust.map((print) => lab.certificates.ca(print)).filter((ca) => ca !== undefined);
  const cas = { client, requestheader: [], now: lab.world.clock.now() };
  const identified = identify({ certificate, headers: request.headers }, cas);
  if (identified.kind !== 'user') return { status: 401, body: 'Unauthorized' };
  const { name, groups } = identified.user;
  if (!groups.includes('system:masters')) {
    return { status: 403, body: `Forbidden (user=${name}, verb=get, resource=nodes, subresource=proxy)` };
  }
  const path = addressOf(request).path.replace(/\/$/, '');
  if (path === '/healthz') return { status: 200, body: 'ok' };
  if (path === '/pods') return { status: 200, body: podList(lab, machine) };
  return { status: 404, body: '404 page not found\n' };
}

function podList({ world }: LabWorld, machine: SimMachine): object {
  const pods = resourceAt('v1', 'pods');
  const history = historyOf(world);
  history.refresh();
  const items = pods === undefined ? [] : history.list(pods);
  const mine = items.filter((pod) => (pod as { spec?: { nodeName?: string } }).spec?.nodeName === machine.name);
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: mine };
}
