import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCa } from '../../test/builders/certificates.ts';
import {
  aMachineConfig,
  type ClusterMaterial,
  changesBetween,
  type MachineConfigOptions,
  someMaterial,
  type WritingStyle,
} from '../../test/builders/machine-config.ts';
import type { CertificateAndKey } from '../pki/index.ts';
import {
  type Change,
  drift,
  MachineConfigError,
  type MachineConfigView,
  type RenderStage,
  readMachineConfig,
  renderStage,
  stageOf,
  type Target,
} from './index.ts';

const STAGES: readonly RenderStage[] = ['Accepting', 'Issuing', 'Dropping'];
const TALOS = { talosVersion: 'v1.14.1' };
/** Targets whose old fields move to a document while both are accepted. */
const MOVING = new Set(['kubernetes-aggregator', 'etcd-encryption', 'service-account']);

describe('the laws of rendering', { timeout: 60_000 }, () => {
  let before: ClusterMaterial;
  let after: ClusterMaterial;
  let foreign: readonly CertificateAndKey[];
  let changes: Change[];

  beforeAll(async () => {
    before = await someMaterial('key2');
    after = await someMaterial('key3');
    foreign = [await aCa('kubernetes'), await aCa('talos')];
    changes = changesBetween(before, after);
  });

  const shapes = fc.constantFrom<'legacy' | 'typed' | 'mixed'>('legacy', 'typed', 'mixed');
  const roles = fc.constantFrom<'controlplane' | 'worker'>('controlplane', 'worker');
  const stages = fc.constantFrom(...STAGES);

  function styles(): fc.Arbitrary<WritingStyle> {
    return fc.record({
      indent: fc.constantFrom<2 | 4>(2, 4),
      eol: fc.constantFrom<'\n' | '\r\n'>('\n', '\r\n'),
      hasLastNewline: fc.boolean(),
      hasComments: fc.boolean(),
      quote: fc.constantFrom<'' | "'" | '"'>('', "'", '"'),
      pem: fc.constantFrom<'literal' | 'quoted'>('literal', 'quoted'),
      foreign: fc.subarray([...foreign]),
      list: fc.constantFrom<'block' | 'flow'>('block', 'flow'),
      hasEmptyLists: fc.boolean(),
      isReversed: fc.boolean(),
    });
  }

  interface Case {
    readonly options: Omit<MachineConfigOptions, 'material'>;
    readonly targets: readonly Target[];
    readonly stage: RenderStage;
  }

  function cases(): fc.Arbitrary<Case> {
    return fc.record({
      options: fc.record({ role: roles, shape: shapes, style: styles() }),
      targets: fc.shuffledSubarray(
        changes.map(({ target }) => target),
        { minLength: 1 },
      ),
      stage: stages,
    });
  }

  function check(
    law: (config: string, given: Omit<Case, 'targets'> & { readonly changes: readonly Change[] }) => void,
  ): void {
    fc.assert(
      fc.property(cases(), ({ targets, ...given }) => {
        const chosen = targets.flatMap((target) => changes.filter((change) => change.target === target));
        law(aMachineConfig({ ...given.options, material: before }), { ...given, changes: chosen });
      }),
      // About a tenth of a second each; a machine with much else to do tries fewer, but ends.
      { numRuns: 25, interruptAfterTimeLimit: 4_000 },
    );
  }

  it('rendering a stage twice changes nothing the second time, and gives back the same string', () => {
    check((config, { changes, stage }) => {
      const once = renderStage(config, changes, stage, TALOS);

      expect(renderStage(once, changes, stage, TALOS)).toBe(once);
    });
  });

  it('after rendering, every change stands at the stage and nothing drifts', () => {
    check((config, { options, changes, stage }) => {
      const rendered = renderStage(config, changes, stage, TALOS);

      for (const change of changes) {
        const isForWorkers = change.target === 'talos' || change.target === 'kubernetes';
        expect(stageOf(rendered, change)).toBe(options.role === 'worker' && !isForWorkers ? 'NotConcerned' : stage);
      }
      expect(drift(rendered, changes, stage)).toEqual([]);
    });
  });

  it('targets rendered one after the other, in any order, give what they give together', () => {
    check((config, { changes, stage }) => {
      const together = renderStage(config, changes, stage, TALOS);

      const oneByOne = changes.reduce((text, change) => renderStage(text, [change], stage, TALOS), config);

      expect(oneByOne).toBe(together);
    });
  });

  it('a target that is not rotated says the same as before', () => {
    check((config, { changes, stage }) => {
      const others = (view: MachineConfigView) => {
        const rotated = new Set(changes.map(({ target }) => target));
        return Object.entries(byTarget(view)).filter(([target]) => !rotated.has(target as Change['target']));
      };

      const rendered = renderStage(config, changes, stage, TALOS);

      expect(others(readMachineConfig(rendered))).toEqual(others(readMachineConfig(config)));
    });
  });

  it('going through the stages ends where going straight to Dropping ends, byte for byte', () => {
    check((config, { options, changes }) => {
      const keepsItsShape = (change: Change) => options.shape === 'typed' || !MOVING.has(change.target);
      const staying = changes.filter(keepsItsShape);

      const passed = STAGES.reduce((text, stage) => renderStage(text, staying, stage, TALOS), config);

      expect(passed).toBe(renderStage(config, staying, 'Dropping', TALOS));
    });
  });

  it('Dropping is the configuration that is written with the new material in the first place, byte for byte', () => {
    check((config, { options, changes }) => {
      const staying = changes.filter(
        ({ target }) => target !== 'etcd-encryption' && (options.shape === 'typed' || !MOVING.has(target)),
      );
      const rotated = Object.fromEntries(staying.map((change) => [fieldOf(change), change.new]));
      const material = { ...before, ...rotated };

      const dropped = renderStage(config, staying, 'Dropping', TALOS);

      const style = { ...options.style, ...(staying.length > 0 ? endsInNewline(config, dropped) : {}) };
      expect(dropped).toBe(aMachineConfig({ ...options, style, material }));
    });
  });

  it('the same stage is reached from every other stage', () => {
    check((config, { options, changes, stage }) => {
      const staying = changes.filter(({ target }) => options.shape === 'typed' || !MOVING.has(target));
      const direct = renderStage(config, staying, stage, TALOS);

      for (const other of STAGES) {
        const detour = renderStage(renderStage(config, staying, other, TALOS), staying, stage, TALOS);
        expect(readMachineConfig(detour)).toEqual(readMachineConfig(direct));
      }
    });
  });

  it('undoing an Accepting or Issuing gives the first configuration back, byte for byte', () => {
    check((config, { options, changes, stage }) => {
      const staying = changes.filter(({ target }) => options.shape === 'typed' || !MOVING.has(target));
      if (stage === 'Dropping') return;
      const undo = staying.map((change) => ({ ...change, old: change.new, new: change.old }) as Change);

      const undone = renderStage(renderStage(config, staying, stage, TALOS), undo, 'Dropping', TALOS);

      expect(undone).toBe(
        staying.length > 0 && !config.endsWith('\n') && undone.endsWith('\n') ? `${config}${eolOf(config)}` : config,
      );
    });
  });

  it('trust never shrinks before Dropping', () => {
    check((config, { changes }) => {
      let known = trusted(readMachineConfig(config));
      let text = config;
      for (const stage of ['Accepting', 'Issuing'] as const) {
        text = renderStage(text, changes, stage, TALOS);
        const now = trusted(readMachineConfig(text));
        expect([...known].filter((each) => !now.has(each))).toEqual([]);
        known = now;
      }
    });
  });

  it('a worker never carries a CA key, nor anything of a control plane', () => {
    check((config, { options, changes, stage }) => {
      const rendered = options.role === 'worker' ? renderStage(config, changes, stage, TALOS) : '';

      for (const { old, new: next } of changes) {
        for (const key of [old, next].flatMap((each) => ('key' in each ? [each.key.expose()] : []))) {
          expect(rendered).not.toContain(Buffer.from(key).toString('base64'));
          expect(rendered).not.toContain(key.split('\n')[1]);
        }
      }
    });
  });

  it('what is not ours survives: every line that holds no material of the change is still there, in order', () => {
    check((config, { options, changes, stage }) => {
      const staying = changes.filter(({ target }) => options.shape === 'typed' || !MOVING.has(target));
      const rendered = renderStage(config, staying, stage, TALOS);
      const kept = config.split(/\r?\n/).filter((line) => NOT_OURS.test(line));

      const lines = rendered.split(/\r?\n/);

      expect(lines.filter((line) => NOT_OURS.test(line))).toEqual(kept);
      expect(rendered.includes('\r\n')).toBe(config.includes('\r\n'));
      expect(/(?<!\r)\n/.test(rendered)).toBe(options.style?.eol === '\n');
    });
  });

  it('an old configuration is refused by name where Talos below 1.14 has no way to do it', () => {
    const config = aMachineConfig({ material: before });
    for (const change of changes.filter(({ target }) => MOVING.has(target))) {
      for (const stage of STAGES) {
        expect(() => renderStage(config, [change], stage, { talosVersion: 'v1.13.9' })).toThrow(
          expect.objectContaining({ name: 'MachineConfigError', kind: 'needs-newer-talos' }),
        );
      }
    }
    expect(MachineConfigError.name).toBe('MachineConfigError');
  });
});

/** Lines with words that only settings of others and comments have. */
const NOT_OURS = /kept|not ours|foreign|certSANs|token|everything|the CA|keep me|clusterName|endpoint|hostname|kubelet/;

function byTarget(view: MachineConfigView) {
  return {
    talos: view.talos,
    kubernetes: view.kubernetes,
    etcd: view.etcd,
    'kubernetes-aggregator': view.aggregator,
    'etcd-encryption': view.encryption,
    'service-account': view.serviceAccount,
  };
}

function fieldOf({ target }: Change): string {
  if (target === 'kubernetes-aggregator') return 'aggregator';
  return target === 'service-account' ? 'serviceAccount' : target;
}

function eolOf(config: string): string {
  return config.includes('\r\n') ? '\r\n' : '\n';
}

/** A literal block that ends the file brings the file's last newline with it. */
function endsInNewline(before: string, after: string): Partial<WritingStyle> {
  return !before.endsWith('\n') && after.endsWith('\n') ? { hasLastNewline: true } : {};
}

/** Everything that a machine accepts: certificates, public keys, encryption keys. */
function trusted(view: MachineConfigView): Set<string> {
  const cas = [view.talos, view.kubernetes, view.aggregator].flatMap((ca, index) =>
    ca === undefined
      ? []
      : [...(ca.issuing === undefined ? [] : [ca.issuing]), ...ca.accepted].map(
          (each) => `${index} ${each.fingerprint}`,
        ),
  );
  const { etcd, encryption, serviceAccount } = view;
  return new Set([
    ...cas,
    ...(etcd?.bundle ?? []).map(({ fingerprint }) => `etcd ${fingerprint}`),
    ...(serviceAccount === undefined
      ? []
      : [serviceAccount.issuer, ...serviceAccount.accepted].map((id) => `account ${id}`)),
    ...(encryption?.rules ?? []).flatMap(({ providers }, rule) =>
      providers.flatMap(({ provider, keys }) => [provider, ...keys.map((key) => `${rule} ${provider} ${key}`)]),
    ),
  ]);
}
