import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import type { Checker } from '../run.ts';

/** S16: no key bytes in status, audit or story: neither PEM, nor base64 of it, nor any line of it. */
export function noLeak(): Checker {
  return {
    property: 'S16 no leak',
    end({ store, world }) {
      const text = JSON.stringify([[...store.operations.values()], store.audit, world.lines]);
      if (text.includes('PRIVATE KEY')) return 'a private key stands in the status, the audit or the story';
      for (const target of CA_TARGETS) {
        for (const generation of [0, 1]) {
          const pem = world.mint.ca(target, generation).key.expose();
          const forms = [...pem.split('\n').slice(1, -2), Buffer.from(pem).toString('base64')];
          const leaked = forms.some((form) => form.length >= 32 && text.includes(form.slice(0, 32)));
          if (leaked) return `bytes of the key of a ${target} CA stand in the status, the audit or the story`;
        }
      }
      return undefined;
    },
  };
}
