import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Certificate } from '../../../pkg/pki/index.ts';
import {
  API_CERTIFICATES,
  KUBERNETES_DYNAMIC_CERTIFICATES,
  KUBERNETES_ROOT,
  probeTls,
  TRUSTD_CERTIFICATES,
} from '../../../pkg/talos/index.ts';
import { setValue } from './documents.ts';
import { TALOS_CHAIN } from './kinds.ts';
import { KUBERNETES_ROW, seeRow } from './rows.ts';
import { signedBy } from './staging.ts';
import { PATIENT, until } from './subject.ts';
import type { Subject } from './target.ts';

const BOOTSTRAP_KUBECONFIG = '/etc/kubernetes/bootstrap-kubeconfig';
const KUBELET = ['KubeletSecrets', 'service:kubelet'];
const NAME = 'extra.example';

/**
 * Fields that are no keys and move certificates all the same: the bootstrap token,
 * names in certificates, the cluster's endpoint. In either shape; leaves the machine
 * as it was, its static pods still restarting.
 */
export function clusterFieldsConformance(subject: () => Subject): void {
  describe('fields of the cluster', PATIENT, () => {
    const served = async (port: number) => {
      const { first, target } = subject();
      const trust = [target.bundle.talos.certificate, target.bundle.kubernetes.certificate];
      return (await probeTls({ host: first.address, port, trust, credentials: target.credentials })).chain[0];
    };
    /** What the API server is to serve, once it is for this name. */
    const apiServerLeaf = async (name: string) => {
      let leaf: Certificate | undefined;
      await until(`the certificate of the API server is for ${name}`, 600_000, async () => {
        leaf = (await subject().first.get(KUBERNETES_DYNAMIC_CERTIFICATES))?.spec.apiServer?.certificates[0];
        return names(leaf).includes(name);
      });
      return leaf;
    };
    const bootstrap = async () => {
      const file: unknown = parse((await subject().first.readFile(BOOTSTRAP_KUBECONFIG)).toString());
      const kubeconfig = file as { clusters: [{ cluster: { server: string } }]; users: [{ user: { token: string } }] };
      return { server: kubeconfig.clusters[0].cluster.server, token: kubeconfig.users[0].user.token };
    };

    it('another bootstrap token moves all of Kubernetes and restarts the kubelet, which then has it', async () => {
      await seeRow(subject().first, {
        edit: ({ main }) => main.setIn(['cluster', 'token'], 'second.0123456789abcdef'),
        moves: [...KUBERNETES_ROW, ...KUBELET],
        look: async () => expect((await bootstrap()).token).toBe('second.0123456789abcdef'),
      });
    });

    it('a name for the machine is in what apid and trustd serve at once, and moves nothing of Kubernetes or etcd', async () => {
      const { first, target } = subject();
      await seeRow(first, {
        edit: ({ main }) => main.setIn(['machine', 'certSANs'], main.createNode([NAME, '192.0.2.1'])),
        moves: [...TALOS_CHAIN, 'CertSAN/api'],
        look: async () => {
          const api = (await first.get(API_CERTIFICATES))?.spec.server?.certificates[0];
          const trustd = (await first.get(TRUSTD_CERTIFICATES))?.spec.server?.certificates[0];
          const leaves = [api, trustd, await served(50_000), await served(50_001)];
          expect(leaves.map((leaf) => [names(leaf), signedBy(leaf, target.bundle.talos)])).toEqual(
            leaves.map(() => [
              expect.arrayContaining([`DNS:${NAME}`, 'IP Address:192.0.2.1', `IP Address:${first.address}`]),
              true,
            ]),
          );
          expect(names(await served(6443))).not.toContain(`DNS:${NAME}`);
        },
      });
    });

    it('a name for the API server is in what it serves, and moves all of Kubernetes but the kubelet', async () => {
      const { first, target } = subject();
      await seeRow(first, {
        edit: (documents) => setValue(documents, 'apiServerSans', [NAME]),
        moves: [...KUBERNETES_ROW, 'CertSAN/k8s'],
        look: async () => {
          const leaf = await apiServerLeaf(`DNS:${NAME}`);
          expect(signedBy(leaf, target.bundle.kubernetes)).toBe(true);
          await until('the API server serves it', 600_000, async () => {
            return (await served(6443))?.fingerprint === leaf?.fingerprint;
          });
          expect(names(await served(50_000))).not.toContain(`DNS:${NAME}`);
        },
      });
    });

    it('another endpoint is in new kubeconfigs and in the names of the API server; the kubelet does not use it', async () => {
      const { first } = subject();
      const endpoint = `https://${NAME}:6443`;
      await seeRow(first, {
        edit: (documents) => setValue(documents, 'endpoint', endpoint),
        moves: [...KUBERNETES_ROW, 'CertSAN/k8s'],
        look: async () => {
          expect((await first.get(KUBERNETES_ROOT))?.spec.endpoint).toBe(endpoint);
          const kubeconfig: unknown = parse((await first.kubeconfig()).expose());
          expect(kubeconfig).toMatchObject({ clusters: [{ cluster: { server: endpoint } }] });
          await apiServerLeaf(`DNS:${NAME}`);
        },
      });
    });

    it('another port of KubePrism restarts the kubelet, which finds the API server there', async () => {
      await seeRow(subject().first, {
        edit: (documents) => setValue(documents, 'kubePrismPort', 7446),
        moves: [...KUBERNETES_ROW, ...KUBELET],
        look: async () => expect((await bootstrap()).server).toBe('https://127.0.0.1:7446'),
      });
    });
  });
}

/** The names and addresses that a certificate is for. */
function names(leaf: Certificate | undefined): string[] {
  return leaf === undefined ? [] : (new X509Certificate(leaf.pem).subjectAltName ?? '').split(', ');
}
