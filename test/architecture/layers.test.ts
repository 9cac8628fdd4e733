import { describe, expect, it } from 'vitest';
import { layerViolations } from './layers.ts';
import { purityViolations } from './purity.ts';
import { readSources, type Source } from './sources.ts';

const PRODUCT = ['api', 'pkg', 'internal', 'cmd'];

function aFile(path: string, text: string): Source {
  return { path, text };
}

describe('layers', () => {
  it('every import in the tree follows the table', () => {
    expect(layerViolations(readSources([...PRODUCT, 'test']))).toEqual([]);
  });

  it('names the file and the import when a package reaches into the engine', () => {
    const found = layerViolations([
      aFile('pkg/pki/ca.ts', "import { decide } from '../../internal/rotation/decide.ts';"),
    ]);

    expect(found).toEqual([
      'pkg/pki/ca.ts: imports internal/rotation/decide.ts; pkg/pki may import only pkg/pki, node-forge, @peculiar/x509, reflect-metadata',
    ]);
  });

  it('refuses dynamic imports and re-exports as well', () => {
    const found = layerViolations([
      aFile(
        'api/v1alpha1/x.ts',
        "const a = await import('../../pkg/pki/index.ts');\nexport { b } from '../../cmd/ichor/main.ts';",
      ),
    ]);

    expect(found).toHaveLength(2);
  });

  it('refuses a file in a folder that no layer names', () => {
    expect(layerViolations([aFile('internal/misc/x.ts', '')])).toEqual([
      'internal/misc/x.ts: belongs to no layer; add its folder to LAYERS in test/architecture/layers.ts',
    ]);
  });

  it('nobody in the product imports test helpers', () => {
    expect(
      layerViolations([aFile('internal/store/x.ts', "import { aCluster } from '../../test/builders/cluster.ts';")]),
    ).toHaveLength(1);
  });
});

describe('the pure core', () => {
  it('touches no clock, randomness, environment, files, network or timers', () => {
    const core = readSources(['internal/rotation', 'api']).filter((source) => !source.path.endsWith('.test.ts'));

    expect(purityViolations(core)).toEqual([]);
  });

  it.each([
    ['const now = Date.now();', 'uses Date.now; time is in the observation (observation.now)'],
    ['const now = new Date();', 'uses new Date(); time is in the observation (observation.now)'],
    ['const r = Math.random();', 'uses Math.random; new material comes from the shell, through the record'],
    ['const d = process.env.X;', 'uses process; pass settings as parameters'],
    ['setTimeout(f, 1);', 'uses setTimeout; waiting is a value: return a wait decision with recheckAfterMs'],
    ['export async function f() {}', 'uses async; the core is synchronous'],
  ])('refuses %s', (text, message) => {
    expect(purityViolations([aFile('internal/rotation/x.ts', text)])).toEqual([`internal/rotation/x.ts:1: ${message}`]);
  });

  it('refuses a Node module', () => {
    expect(purityViolations([aFile('internal/rotation/x.ts', "import { readFileSync } from 'node:fs';")])).toEqual([
      'internal/rotation/x.ts: imports node:fs; the pure core imports no Node module',
    ]);
  });

  it('does not mind the words in comments and strings', () => {
    const text = "// the process waits\nconst message = 'the process of fetch';";

    expect(purityViolations([aFile('internal/rotation/x.ts', text)])).toEqual([]);
  });
});
