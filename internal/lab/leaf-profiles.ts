import { isIP } from 'node:net';
import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { LeafProfile } from '../../pkg/pki/index.ts';
import type { AskedNames } from './other-inputs.ts';
import type { LeafUse } from './served.ts';

/** Whom a leaf is for. */
export interface LeafSubject {
  readonly name: string;
  readonly address: string;
  readonly role: 'controlplane' | 'worker';
  /** The cluster endpoint as the configuration has it, such as `https://10.0.0.1:6443`. */
  readonly endpoint: string | undefined;
  /** What its configuration asks for besides. */
  readonly asked: AskedNames;
  /** The trustd token: another one makes Talos issue the certificates of its own API anew. */
  readonly token: string;
}

/** What a certificate follows from besides its CA: where it differs, another one is issued. */
export function inputsOf(subject: LeafSubject, use: LeafUse): string {
  const { asked, token, endpoint } = subject;
  if (use === 'kube-apiserver') return JSON.stringify([endpoint, asked.apiServer]);
  const isTalos = use === 'apid-server' || use === 'apid-client' || use === 'trustd-server';
  return isTalos ? JSON.stringify([token, asked.machine]) : '';
}

/** Longer than any rehearsal. Real ones live a day (Talos API), a year (Kubernetes) or ten (etcd) and are renewed; a lab's are not. */
const VALIDITY_MS = 365 * 86_400_000;

/** First address of the service network that Talos configures unless told otherwise: the API server's own service. */
const API_SERVICE_IP = '10.96.0.1';

const USES: Readonly<Record<CaTarget, Readonly<Record<'controlplane' | 'worker', readonly LeafUse[]>>>> = {
  talos: { controlplane: ['apid-server', 'apid-client', 'trustd-server'], worker: ['apid-server'] },
  etcd: { controlplane: ['etcd-server', 'etcd-peer', 'etcd-admin', 'etcd-apiserver'], worker: [] },
  kubernetes: {
    controlplane: [
      ...(['kube-apiserver', 'apiserver-kubelet-client', 'kubelet-client'] as const),
      ...(['scheduler-client', 'controller-manager-client', 'admin-client'] as const),
    ],
    worker: ['kubelet-client'],
  },
  'kubernetes-aggregator': { controlplane: ['front-proxy'], worker: [] },
};

/** What a machine of that role has of a CA. */
export function usesOf(target: CaTarget, role: 'controlplane' | 'worker'): readonly LeafUse[] {
  return USES[target][role];
}

/** Subject, usages and names of each certificate, as Talos 1.14 writes them (`internal/app/machined/pkg/controllers/secrets`). */
export function leafProfile(subject: LeafSubject, use: LeafUse, now: number): LeafProfile {
  const { name, address } = subject;
  const base = { now, validityMs: VALIDITY_MS, backdateMs: 5 * 60_000 };
  const enciphers = { ...base, keyUsages: ['digitalSignature', 'keyEncipherment'] as const };
  const names = { ips: [...new Set([address, '127.0.0.1'])], dns: [name] };
  const ownNames = withAsked(names, subject.asked.machine);
  switch (use) {
    case 'apid-server':
      return { ...base, ...ownNames, subject: { cn: name }, usages: ['server'] };
    case 'apid-client':
      return { ...base, subject: { o: ['os:impersonator'], cn: name }, usages: ['client'] };
    case 'trustd-server':
      return { ...enciphers, ...ownNames, subject: { cn: name }, usages: ['server'] };
    case 'etcd-server':
      return { ...enciphers, ...etcdNames(subject), subject: { cn: name }, usages: ['server', 'client'] };
    case 'etcd-peer':
      return { ...enciphers, ...names, subject: { cn: name }, usages: ['server', 'client'] };
    case 'etcd-admin':
      return { ...enciphers, subject: { cn: 'talos' }, usages: ['client'] };
    case 'etcd-apiserver':
      return { ...enciphers, subject: { cn: 'kube-apiserver' }, usages: ['client'] };
    case 'kube-apiserver':
      return {
        ...enciphers,
        ...apiServerNames(subject),
        subject: { o: ['kube-master'], cn: 'kube-apiserver' },
        usages: ['server'],
      };
    case 'apiserver-kubelet-client':
      return { ...enciphers, subject: { o: ['system:masters'], cn: 'apiserver-kubelet-client' }, usages: ['client'] };
    case 'kubelet-client':
      return { ...base, subject: { o: ['system:nodes'], cn: `system:node:${name}` }, usages: ['client'] };
    case 'scheduler-client':
      return kubernetesClient('system:kube-scheduler', now);
    case 'controller-manager-client':
      return kubernetesClient('system:kube-controller-manager', now);
    case 'admin-client':
      return { ...enciphers, subject: { o: ['system:masters'], cn: 'talos:admin' }, usages: ['client'] };
    case 'front-proxy':
      return { ...enciphers, subject: { cn: 'front-proxy-client' }, usages: ['client'] };
  }
}

function kubernetesClient(user: string, now: number): LeafProfile {
  return { now, validityMs: VALIDITY_MS, subject: { o: [user], cn: user }, usages: ['client'] };
}

function etcdNames({ name, address }: LeafSubject): Pick<LeafProfile, 'ips' | 'dns'> {
  return { ips: [...new Set([address, '127.0.0.1', '::1'])], dns: [name, 'localhost'] };
}

/** Names and addresses with those that a configuration asks for. */
function withAsked(
  { ips, dns }: { readonly ips: readonly string[]; readonly dns: readonly string[] },
  asked: readonly string[],
): { readonly ips: readonly string[]; readonly dns: readonly string[] } {
  const isAddress = (name: string): boolean => isIP(name) !== 0;
  return {
    ips: [...new Set([...ips, ...asked.filter(isAddress)])],
    dns: [...new Set([...dns, ...asked.filter((name) => !isAddress(name))])],
  };
}

function apiServerNames({ name, address, endpoint, asked }: LeafSubject): Pick<LeafProfile, 'ips' | 'dns'> {
  const host = hostOf(endpoint);
  const service = 'kubernetes.default.svc';
  const own = {
    ips: [address, '127.0.0.1', API_SERVICE_IP],
    dns: ['kubernetes', 'kubernetes.default', service, `${service}.cluster.local`, 'localhost', name],
  };
  return withAsked(own, [...(host === undefined ? [] : [host]), ...asked.apiServer]);
}

function hostOf(endpoint: string | undefined): string | undefined {
  const host = URL.parse(endpoint ?? '')?.hostname;
  return host === undefined || host === '' ? undefined : host.replace(/^\[|\]$/g, '');
}
