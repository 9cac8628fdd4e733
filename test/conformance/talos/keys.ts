import { beforeAll, describe, expect, it } from 'vitest';
import { type Document, parse } from 'yaml';
import {
  createEncryptionKey,
  createServiceAccountKey,
  type EncryptionKey,
  parsePublicKeys,
  parseServiceAccountKey,
  type ServiceAccountKey,
} from '../../../pkg/pki/index.ts';
import { KUBERNETES_ROOT } from '../../../pkg/talos/index.ts';
import { type ConfigDocuments, editDocuments } from './documents.ts';
import { STATIC_PODS } from './kinds.ts';
import { KUBERNETES_ROW, STATIC_POD, seeRow } from './rows.ts';
import { change, type Footprint, footprint, moved, PATIENT, podsReady, until } from './subject.ts';
import type { Subject } from './target.ts';

const SECRETS = '/system/secrets/kubernetes';
/** A resource that no cluster has: whichever key is first for it, nothing is stored under it. */
const RULE = 'widgets.conformance.example';

/**
 * Keys of typed documents: what signs and checks service-account tokens, and what
 * encrypts at rest. Leaves the cluster on the keys that it had.
 */
export function keysConformance(subject: () => Subject): void {
  const file = async (path: string) => (await subject().first.readFile(`${SECRETS}/${path}`)).toString();
  const flags = async (component: string, flag: string) => {
    const pod = await subject().first.get(STATIC_POD, { id: component });
    return pod?.spec.command.filter((text) => text.startsWith(`--${flag}=`)).map((text) => text.split('=')[1]);
  };
  const annotation = async (component: string, name: string) =>
    (await subject().first.get(STATIC_POD, { id: component }))?.spec.annotations[`talos.dev/${name}`];
  let before: Footprint;

  describe('service-account keys', PATIENT, () => {
    let next: ServiceAccountKey;

    beforeAll(async () => {
      before = await footprint(subject().first, {});
      next = await createServiceAccountKey();
    });

    const account = (documents: ConfigDocuments): Document => {
      const found = documents.of('KubeServiceAccountConfig');
      if (found === undefined) throw new Error('this suite needs a KubeServiceAccountConfig');
      return found;
    };
    const accepted = async () => {
      const pem = await file('kube-apiserver/service-account.pub');
      return parsePublicKeys(pem).map(({ fingerprint }) => fingerprint);
    };
    const signing = async () => ({
      apiServer: parseServiceAccountKey(await file('kube-apiserver/service-account.key')).fingerprint,
      controllerManager: parseServiceAccountKey(await file('kube-controller-manager/service-account.key')).fingerprint,
    });

    it('an accepted public key comes after the one of the signing key', async () => {
      const { first, target } = subject();
      const old = target.bundle.serviceAccount.fingerprint;
      await seeRow(first, {
        edit: (documents) => account(documents).setIn(['accepted', 'publicKeys'], [next.publicKey]),
        moves: KUBERNETES_ROW,
        look: async () => {
          expect(await accepted()).toEqual([old, next.fingerprint]);
          expect(await signing()).toEqual({ apiServer: old, controllerManager: old });
          expect((await first.get(KUBERNETES_ROOT))?.spec.acceptedServiceAccountKeys).toEqual([old, next.fingerprint]);
        },
      });
    });

    it('another signing key is in the files of API server and controller manager, its public half first', async () => {
      const { first, target } = subject();
      const old = target.bundle.serviceAccount;
      await seeRow(first, {
        edit: (documents) => {
          account(documents).setIn(['issuer', 'privateKey'], next.privateKey.expose());
          account(documents).setIn(['accepted', 'publicKeys'], [old.publicKey]);
        },
        moves: KUBERNETES_ROW,
        look: async () => {
          expect(await accepted()).toEqual([next.fingerprint, old.fingerprint]);
          expect(await signing()).toEqual({ apiServer: next.fingerprint, controllerManager: next.fingerprint });
        },
      });
    });

    it('a public key that cannot be read is applied without a word, and written', async () => {
      const { first } = subject();
      const { config } = await first.configuration('active');
      const broken = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n';

      await change(first, (text) =>
        editDocuments(text, (documents) => account(documents).setIn(['accepted', 'publicKeys'], [broken])),
      );

      await until('the file has it', 60_000, async () =>
        (await file('kube-apiserver/service-account.pub')).endsWith(broken),
      );
      await first.apply({ config, mode: 'NO_REBOOT' });
      // An apply is answered before the machine's controllers have followed, and until then its root secrets cannot be read.
      await until('the file is what it was', 60_000, async () => {
        return !(await file('kube-apiserver/service-account.pub')).endsWith(broken);
      });
    });

    it('issuers and audiences are arguments of the API server, whose configuration has another version', async () => {
      const { first } = subject();
      const issuer = (await first.get(KUBERNETES_ROOT))?.spec.issuerUrl;
      const version = await annotation('kube-apiserver', 'config-version');
      await seeRow(first, {
        edit: (documents) => {
          account(documents).setIn(['accepted', 'issuers'], ['https://other.example']);
          account(documents).setIn(['accepted', 'audiences'], [issuer, 'another']);
        },
        moves: KUBERNETES_ROW,
        look: async () => {
          expect(await flags('kube-apiserver', 'service-account-issuer')).toEqual([issuer, 'https://other.example']);
          expect(await flags('kube-apiserver', 'api-audiences')).toEqual([issuer, 'another']);
          expect(await annotation('kube-apiserver', 'config-version')).not.toBe(version);
        },
      });
    });
  });

  describe('encryption keys', PATIENT, () => {
    let one: EncryptionKey;
    let two: EncryptionKey;

    beforeAll(() => {
      one = createEncryptionKey('secretbox', 'one');
      two = createEncryptionKey('secretbox', 'two');
    });

    /** Adds a rule after those that are there. */
    const withRule = (providers: readonly object[]) => (documents: ConfigDocuments) => {
      const document = documents.of('KubeEtcdEncryptionConfig');
      if (document === undefined) throw new Error('this suite needs a KubeEtcdEncryptionConfig');
      document.addIn(['config', 'resources'], document.createNode({ resources: [RULE], providers }));
    };
    const keys = (...list: readonly EncryptionKey[]) => ({
      secretbox: { keys: list.map(({ name, secret }) => ({ name, secret: secret.expose() })) },
    });
    const written = async () => {
      const text = await file('kube-apiserver/encryptionconfig.yaml');
      const config = parse(text) as { kind: string; resources: { resources: string[]; providers: unknown }[] };
      return config.resources.find(({ resources }) => resources.includes(RULE))?.providers;
    };
    const ROW = [...KUBERNETES_ROW, 'EtcdEncryptionConfig'];

    it('are written as the document has them: one added, the order changed, one dropped', async () => {
      const { first } = subject();
      for (const list of [[one], [one, two], [two, one], [two]]) {
        await seeRow(first, {
          edit: withRule([keys(...list), { identity: {} }]),
          moves: ROW,
          look: async () => expect(await written()).toEqual([keys(...list), { identity: {} }]),
        });
      }
    });

    it('of a provider that does not exist are applied without a word: the file stays, the static pods restart with it', async () => {
      await seeRow(subject().first, {
        edit: withRule([{ nonesuch: { keys: [{ name: one.name, secret: one.secret.expose() }] } }]),
        moves: KUBERNETES_ROW,
        look: async () => expect(await written()).toBeUndefined(),
      });
    });

    it('that are no base64 are applied without a word, and written', async () => {
      const broken = [{ secretbox: { keys: [{ name: 'broken', secret: 'no base64' }] } }];
      await seeRow(subject().first, {
        edit: withRule(broken),
        moves: ROW,
        look: async () => expect(await written()).toEqual(broken),
      });
    });
  });

  describe('the static pods, after changes of keys', PATIENT, () => {
    it('have all three been started anew, and the kubelet has not', async () => {
      const { first } = subject();

      await until('three other containers run', 600_000, async () => {
        const names = moved(before, await footprint(first, {}));
        return STATIC_PODS.every((name) => names.includes(name));
      });
      await podsReady(first);

      expect(moved(before, await footprint(first, {})).filter((name) => name.startsWith('service:'))).toEqual([]);
    });
  });
}
