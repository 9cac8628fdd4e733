import { writeCertificates } from '../../../pkg/pki/index.ts';
import { asText } from '../configuration.ts';
import { kubePrismPort } from '../other-inputs.ts';
import type { Boot } from './boot.ts';

type Content = (boot: Boot) => string | undefined;

/** The trust file of etcd, and that of the API server towards it: the bundle, whether a process has read it or not. */
const etcdTrust: Content = ({ machine }) => {
  const bundle = machine.taken.etcd?.bundle;
  return bundle === undefined ? undefined : writeCertificates(bundle);
};

/** Files that a machine of a lab has, by path. */
const FILES: Readonly<Record<string, Content>> = {
  '/proc/sys/kernel/random/boot_id': ({ id }) => `${id}\n`,
  '/proc/uptime': ({ lab, startedAt }) => {
    const seconds = (lab.world.clock.now() - Math.floor(startedAt / 1_000) * 1_000) / 1_000;
    return `${seconds.toFixed(2)} ${seconds.toFixed(2)}\n`;
  },
  '/etc/hostname': ({ machine }) => `${machine.name}\n`,
  '/etc/hosts': ({ machine }) => `127.0.0.1 localhost\n${machine.address} ${machine.name}\n`,
  '/etc/os-release': ({ machine }) => `NAME="Talos"\nID=talos\nVERSION_ID=v${machine.version}\n`,
  '/system/secrets/etcd/ca.crt': etcdTrust,
  '/system/secrets/kubernetes/kube-apiserver/etcd-client-ca.crt': etcdTrust,
  '/etc/kubernetes/pki/ca.crt': ({ machine }) => writeCertificates(machine.taken.kubelet),
  '/etc/kubernetes/bootstrap-kubeconfig': (boot) => bootstrapKubeconfig(boot),
  '/var/lib/kubelet/pki/kubelet-client-current.pem': ({ lab, machine }) => {
    const issuer = machine.kubelet.clientIssuer;
    if (issuer === undefined) return undefined;
    const { certificate, key } = lab.certificates.leaf(machine, 'kubelet-client', issuer);
    return certificate.pem + key.expose();
  },
};

/** With what a kubelet without a certificate asks for one: the bootstrap token, through KubePrism. */
function bootstrapKubeconfig({ machine, configuration }: Boot): string {
  const token = asText(configuration().cluster.token);
  const trust = Buffer.from(writeCertificates(machine.taken.kubelet)).toString('base64');
  const server = `https://127.0.0.1:${kubePrismPort(configuration())}`;
  return [
    ...['apiVersion: v1', 'kind: Config', 'clusters:', '- name: local', '  cluster:'],
    ...[`    server: ${server}`, `    certificate-authority-data: ${trust}`],
    ...['users:', '- name: kubelet', '  user:', `    token: ${token}`],
    ...[
      'contexts:',
      '- context:',
      '    cluster: local',
      '    user: kubelet',
      '  name: local',
      'current-context: local',
      '',
    ],
  ].join('\n');
}

/** The content of a file; undefined where there is none. */
export function fileOf(boot: Boot, path: string): Buffer | 'directory' | undefined {
  const content = FILES[path]?.(boot);
  if (content !== undefined) return Buffer.from(content);
  const directory = path.endsWith('/') ? path : `${path}/`;
  return Object.keys(FILES).some((file) => file.startsWith(directory)) ? 'directory' : undefined;
}
