import { describe, expect, it } from 'vitest';
import type { SecretsBundle } from '../../../pkg/bundle/index.ts';
import { Secret } from '../../../pkg/pki/index.ts';
import { type ConfigDocuments, editDocuments } from './documents.ts';
import { KUBERNETES_ROW, seeRow } from './rows.ts';
import { failureOf, PATIENT } from './subject.ts';
import type { Subject } from './target.ts';

interface Move {
  /** Below `cluster`. */
  readonly fields: readonly string[];
  readonly document: (bundle: SecretsBundle, documents: ConfigDocuments) => { kind: string } & Record<string, unknown>;
  readonly moves: readonly string[];
}

/** The legacy fields that hold Kubernetes material, and the documents that say the same. */
const MOVES: Readonly<Record<string, Move>> = {
  'the Kubernetes CA': {
    fields: ['ca'],
    document: ({ kubernetes: ca }) => ({
      kind: 'KubeAPIServerCAConfig',
      issuingCA: { cert: ca.certificate.pem, key: ca.key.expose() },
    }),
    moves: [],
  },
  'the aggregator CA': {
    fields: ['aggregatorCA'],
    document: ({ aggregator: ca }) => ({
      kind: 'KubeAggregatorCAConfig',
      issuingCA: { cert: ca.certificate.pem, key: ca.key.expose() },
    }),
    moves: [],
  },
  'the service-account key, with the endpoint as issuer': {
    fields: ['serviceAccount'],
    document: ({ serviceAccount }, { main }) => ({
      kind: 'KubeServiceAccountConfig',
      issuer: {
        privateKey: serviceAccount.privateKey.expose(),
        issuerURL: main.getIn(['cluster', 'controlPlane', 'endpoint']),
      },
    }),
    moves: [],
  },
  'the encryption secret, as the key that Talos makes of it': {
    fields: ['secretboxEncryptionSecret'],
    document: ({ secretboxEncryptionSecret }) => ({
      kind: 'KubeEtcdEncryptionConfig',
      config: {
        resources: [
          {
            resources: ['secrets'],
            providers: [
              { secretbox: { keys: [{ name: 'key2', secret: secretboxEncryptionSecret }] } },
              { identity: {} },
            ],
          },
        ],
      },
    }),
    moves: [...KUBERNETES_ROW, 'EtcdEncryptionConfig'],
  },
};

/** Material that moves from the legacy document to a typed one and stays the same; needs a cluster in the legacy shape. */
export function movedFieldsConformance(subject: () => Subject): void {
  describe('moved from the legacy document to a typed one', PATIENT, () => {
    it.each(Object.entries(MOVES))('%s', async (_name, { fields, document, moves }) => {
      const { first, target } = subject();
      await seeRow(first, {
        edit: (documents) => {
          const typed = document(target.bundle, documents);
          for (const field of fields) documents.main.deleteIn(['cluster', field]);
          documents.add(typed);
        },
        moves,
      });
    });

    it('is refused for the endpoint alone, of which the service-account key has its issuer', async () => {
      const { first } = subject();
      const { config } = await first.configuration('active');
      const half = editDocuments(config.expose(), (documents) => {
        const { main } = documents;
        const endpoint = main.getIn(['cluster', 'controlPlane', 'endpoint']);
        const clusterName = main.getIn(['cluster', 'clusterName']);
        main.deleteIn(['cluster', 'controlPlane']);
        main.deleteIn(['cluster', 'clusterName']);
        documents.add({ kind: 'KubeClusterConfig', clusterName, endpoint });
      });

      const error = await failureOf(first.apply({ config: Secret.of('machine-config', half), mode: 'NO_REBOOT' }));

      expect(error).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
      expect(error.message).toContain('.cluster.serviceAccount');
    });
  });
}
